"""A page that holds every piece that pages are built of: what is right here is right wherever they are used."""

from __future__ import annotations

from aiohttp import web

from gateway.admin.console.charts import Series
from gateway.admin.console.fields import Choice, Field
from gateway.admin.console.part import Part, get, post
from gateway.admin.console.visit import Visit
from gateway.admin.operations import FieldProblem

AT_MS = 1_796_000_000_000

PAGE = """
{% extends "base.html" %}
{% import "macros.html" as ui with context %}
{% block title %}Sample{% endblock %}
{% block main %}
{% call ui.head("Room C0423 客服群", [("Channels", "/admin"), ("acme-shop", "/admin")], lead="这里的设置对整个房间生效。") %}
<a class="button" href="/admin">History</a>{{ ui.act("Touch", "/admin/sample", main=true) }}
{% endcall %}
{{ ui.tabs("Views", [("Sample", "/admin/sample", true), ("Other", "/admin/other", false)]) }}
{{ ui.notice("Saved as revision 12. 已保存。", "good") }}
<div class="figures">
{{ ui.figure("Answered today", "1,204", told="98.2 % in 4 s") }}
{{ ui.figure("Dead letters", "3", "bad", to="/admin") }}
{{ ui.figure("Waiting", "0", "good") }}{{ ui.figure("Cost", "12.40", "warn") }}
</div>
<div class="columns">
{% call ui.card("Messages") %}{{ ui.chart("Messages an hour", bars(labels, series), "Hour") }}{% endcall %}
{% call ui.card("Cost") %}{{ ui.chart("Cost a day", lines(labels, series), "Day", "EUR") }}{% endcall %}
{% call ui.card("Nothing") %}{{ ui.chart("Nothing yet", bars([], []), "Day") }}{% endcall %}
</div>
{% call ui.card("Channels") %}
{% call ui.table("Channels", ["Channel", "State", "Last event", "#Lag", "Share", ""]) %}
<tr><th scope="row"><a href="/admin">acme-shop</a></th><td>{{ ui.badge("Connected", "good") }}</td><td>{{ ui.time(at) }}</td>
<td class="figure">0.2 s</td><td>{{ ui.share(0.4) }}</td>
<td>{{ ui.confirm("Remove", "/admin/sample", "Remove acme-shop?", danger=true, values={"name": "acme-shop"}) }}</td></tr>
<tr><th scope="row">客服机器人</th><td>{{ ui.badge("Down", "bad") }} {{ ui.badge("Slow", "warn") }}</td>
<td>{{ ui.time(none) }}</td>
<td class="figure">12 min</td><td>{{ ui.share(0.9, "bad") }}</td><td></td></tr>
{% endcall %}
{% endcall %}
{% call ui.card("Settings") %}
<form method="post" action="/admin/sample">{{ ui.csrf() }}
{{ ui.problems(problems, "room: not valid") }}
{% for each in fields %}{{ ui.field(each) }}{% endfor %}
<div class="acts"><button class="main">Save</button></div></form>
{% endcall %}
{% call ui.card("Chosen") %}
<form id="chosen" method="post" action="/admin/sample">{{ ui.csrf() }}{{ ui.hidden({"thing": "7 客"}) }}</form>
{{ ui.confirm("Forget", "/admin/nothing", "Forget all that is chosen?", values={"act": "forget"}, of="chosen") }}
{% endcall %}
{% call ui.card("Trace", mood="warn") %}
<ol class="trace">
{% call ui.step("Accepted", "good", at) %}{{ ui.said("رسالة 55\n第二行") }}{% endcall %}
{% call ui.step("Answered", "warn", at, told="2 calls") %}{{ ui.pairs([("Prompt", "1,204"), ("编号", "12")]) }}{% endcall %}
{{ ui.step("Delivered", "bad") }}
</ol>
{% endcall %}
{% call ui.card("Live") %}
<p class="live-mark" data-live-mark="tail">Live</p>
<ul id="tail" data-live="/admin/sample/events" data-live-at="start" data-live-most="2"></ul>
<p><a href="/admin/sample/nothing" hx-get="/admin/sample/nothing" hx-target="#tail">A piece that fails</a></p>
{% endcall %}
{% call ui.empty("Nothing here yet", "When somebody writes, conversations stand here.") %}
<a class="button main" href="/admin">Add a channel</a>{% endcall %}
{{ ui.more("/admin?after=1") }}
{% endblock %}
"""

FIELDS = (
    Field(
        name="window.turns", label="Turns", kind="number", value="4", help="What the agent sees.", unit="turns", default="8",
        origin="revision 12", error="4000 is too many; at most 100",
    ),
    Field(name="agent", label="Agent", kind="choice", value="b", choices=(Choice("a"), Choice("b", "Careers 招聘"))),
    Field(name="key", label="Key", kind="secret", value="never shown", attributes={"autocomplete": "off"}),
    Field(name="observe", label="Observe other talk", kind="check", value="on", help="Kept, not answered."),
    Field(name="system", label="System", kind="area", value="\n<b>You</b> help."),
    Field(name="allow", label="Allowed", kind="lines", value="U1\nU2"),
    Field(name="reason", label="Reason", required=True),
)  # fmt: skip
PROBLEM = FieldProblem(path="rooms.C1.memory", value="'x'", problem="no such setting", remedy="choose one of these")


def part(told: list[dict[str, str]]) -> Part:
    """Return the page's part; what its forms send is appended to `told`."""

    async def show(visit: Visit) -> web.StreamResponse:
        hours = [f"{hour}:00" for hour in range(24)]
        series = [
            Series("answered", [hour * 7 % 13 for hour in range(24)]),
            Series("未回答", [hour % 5 for hour in range(24)]),
        ]
        page = visit.shelf.templates.from_string(PAGE)
        return visit.render(page, at=AT_MS, labels=hours, series=series, fields=FIELDS, problems=(PROBLEM,))  # type: ignore[arg-type]

    async def take(visit: Visit) -> web.StreamResponse:
        told.append(dict(visit.form))
        return visit.see_other("/admin/sample", told="sample.done")

    async def events(visit: Visit) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(visit.request)
        for number in range(3):
            await response.write(
                f"data: <li>event {number} <time datetime='2026-11-30T00:00:00Z'>utc</time></li>\n\n".encode()
            )
        return response

    words = {"sample.done": {"en": "Done.", "zh": "完成。"}}
    return Part(
        name="sample",
        words=words,  # type: ignore[arg-type]
        pages=(get("/sample", show), post("/sample", take), get("/sample/events", events)),
    )
