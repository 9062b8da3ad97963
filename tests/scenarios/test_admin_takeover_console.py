"""The console's pages of take-overs, as a browser without scripts uses them, while a person waits on a local platform."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from gateway.human_notices import told
from tests.scenarios.admins import Admins, Answer
from tests.scenarios.platforms import asks, echo, shows
from tests.scenarios.stage import Stage
from tests.scenarios.test_admin_takeover import newest_turn, room_of, staffed

WAY = "telegram-polling"


def plain(page: Answer) -> str:
    """What a reader sees of it."""
    body = re.sub(r"<(script|style|svg)\b.*?</\1>|<[^>]+>", " ", page.text, flags=re.S)
    return " ".join(unescape(body).split())


async def test_an_operator_answers_in_the_console(tmp_path: Path) -> None:
    """Finds who waits, takes them, reads what was said, answers, and hands back with a summary; a colleague is told who has
    it and may take it from them; a viewer sees that there is one, and no words."""
    async with staffed(tmp_path, ways=(WAY,)) as there:
        there.world.play(echo)
        room = room_of(there, WAY, "private")
        await asks(room, "<b>订单</b> 5512 到哪里了呢")
        await room.says("/human <script>alert(1)</script>")
        await shows(room, told("asked", "zh"))
        admins = Admins(Stage(there.world.folder, there.world.model, there.world.gateway, there.session))
        for name, role in (("Olga", "owner"), ("Ann 安", "operator"), ("Bob", "operator"), ("Vera", "viewer")):
            await admins.user(name, role)
        async with admins.signed_in("Ann 安") as ann, admins.signed_in("Bob") as bob, admins.signed_in("Vera") as vera:
            listed = await ann.get("/admin/takeovers")
            path = re.search(r'href="(/admin/takeovers/\d+)"', listed.text)[1]  # type: ignore[index]
            waiting = await ann.get(path)
            number = path.rsplit("/", 1)[1]
            taken = await ann.post("/admin/takeovers", takeover=number)
            mine = await ann.get(path)
            said = await ann.post(f"{path}/say", text="I look into it *now*", message="1")
            await shows(room, told("said", "zh", name="Ann 安", text="I look into it now"))
            empty = await ann.post(f"{path}/say", text=" ")
            others = await bob.get(path)
            refused = await bob.post(f"{path}/say", text="me too")
            over = await bob.post("/admin/takeovers", takeover=number, over="on")
            await bob.get(path)
            undrafted = await bob.post(f"{path}/draft")
            there.world.model.summary = lambda _: "Order 5512: asked where it is. 草稿"
            await bob.get(path)
            drafted = await bob.post(f"{path}/draft")
            seen = await vera.get(path)
            denied = await vera.post("/admin/takeovers", takeover=number, over="on")
            back = await bob.post(f"{path}/end", summary="5512 is on its way 在途")
            await shows(room, told("handed_back", "zh", name="Bob"))
            await asks(room, "哦")
            ended = await bob.get(path)
            gone = await bob.get("/admin/takeovers?state=ended")
            fresh = await bob.post("/admin/takeovers", turn=await newest_turn(there))

        assert (303, 303, 303, 303, 303) == (taken.status, said.status, over.status, back.status, fresh.status)
        assert "waits for a human" in plain(listed)
        assert "<b>订单</b> 5512 到哪里了呢" in plain(waiting)
        assert "<script>alert(1)" not in waiting.text
        assert "Your answer" in plain(mine)
        assert "a human answers" in plain(mine)
        assert 422 == empty.status
        assert "Take over from Ann 安" in plain(others)
        assert (409, True) == (refused.status, "Ann 安 has this conversation" in plain(refused))
        assert 409 == undrafted.status
        assert (200, True) == (drafted.status, "Order 5512: asked where it is. 草稿</textarea>" in drafted.text)
        assert (200, 403) == (seen.status, denied.status)
        assert "5512" not in plain(seen)
        assert "5512 is on its way 在途" in plain(ended)
        assert "handed back" in plain(gone)


async def test_the_conversation_is_sent_anew_when_something_has_happened(tmp_path: Path) -> None:
    """What a page that updates itself asks for: nothing while nothing happens, else the piece, and all of the page when the
    take-over is over; but not under the hands of whoever may be writing."""
    async with staffed(tmp_path, ways=(WAY,), more=", timeout_s: 6") as there:
        there.world.play(echo)
        room = room_of(there, WAY, "private")
        await asks(room, "hello")
        admins = Admins(Stage(there.world.folder, there.world.model, there.world.gateway, there.session))
        await admins.user("Ann")
        async with admins.signed_in("Ann") as ann:
            begun = await ann.post("/admin/takeovers", turn=await newest_turn(there))
            path = begun.headers["Location"]
            page = await ann.get(path)
            first = await ann.get(f"{path}/news?seen=&stand=active-mine", **{"HX-Request": "true"})
            await room.says("再见 soon")
            await there.desks[WAY].until("再见 soon")
            second = await ann.get(f"{path}/news?seen=&stand=active-mine", **{"HX-Request": "true"})
            await shows(room, told("timed_out", "zh", name="Ann", prefix=""))
            kept = await ann.get(f"{path}/news?seen=x&stand=active-mine", **{"HX-Request": "true"})
            over = await ann.get(f"{path}/news?seen=x&stand=active", **{"HX-Request": "true"})

        assert 'hx-trigger="every 3s"' in page.text
        assert (200, 200) == (first.status, second.status)
        assert "<html" not in first.text
        assert "再见 soon" not in first.text
        assert "再见 soon" in second.text
        assert (204, "true") == (over.status, over.headers["HX-Refresh"])
        assert "You do not have this conversation any more" in kept.text
        assert "hx-get" not in kept.text
