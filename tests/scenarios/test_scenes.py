"""The articles' scenes through the real process: the scripted model knows only what its prompt holds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from tests.scenarios.conftest import HOOK
from tests.scenarios.platforms import words
from tests.scenarios.remembered import learned, leases_end
from tests.scenarios.stage import Stage, stage, talk, users
from tests.scenarios.world import Hook, Prompt, gateway, model_server, write_config

AGENT = 'memory: {model: none}\nagents: {default: {kind: openai, base_url: "MODEL", model: stub}}'
LOST = "I can't tell what you mean."


@dataclass(frozen=True)
class Line:
    """What a person says, what of the earlier talk it can't be understood without, and the answer of who understood."""

    said: str
    answer: str
    needs: tuple[str, ...] = ()


SCENES = {
    "A02-en": (
        Line("How do I file overtime in the OA system?", "OA > Attendance > Overtime request."),
        Line(
            "And who approves that?",
            "First your team lead, then HR, one day each.",
            needs=("overtime in the OA", "Overtime request"),
        ),
        Line(
            "It has not been approved in three days, whom do I call?",
            "Your overtime request should have taken two days: call HR.",
            needs=("How do I file overtime", "team lead, then HR, one day each"),
        ),
    ),
    "A02-zh": (
        Line("OA 系统里怎么提交加班申请？", "在「OA > 考勤 > 加班申请」里提交。"),
        Line("那审批流程是怎样的？", "先由直属主管审批，再由人事审批，各一天。", needs=("加班申请",)),
        Line(
            "它三天还没批下来，该找谁？",
            "您的加班申请本应两天内批完，请联系人事。",
            needs=("怎么提交加班申请", "先由直属主管审批，再由人事审批"),
        ),
    ),
    "B02-en": (
        Line("My running shoes came apart, order tail 8821.", "I am sorry. What would you like?"),
        Line("A refund, please.", "Which colour were they?", needs=("order tail 8821",)),
        Line("Blue. Which order is it again?", "8821, running shoes.", needs=("running shoes", "8821", "A refund")),
    ),
    "B02-zh": (
        Line("跑鞋开胶了，订单尾号 8821", "很抱歉，您想退货还是换货？"),
        Line("退货", "好的，请选择取件时间。", needs=("跑鞋开胶", "8821", "退货还是换货")),
        Line("明天上午", "已为尾号 8821 的跑鞋安排明天上午取件。", needs=("订单尾号 8821", "退货", "取件时间")),
    ),
    "C26-en": (
        Line("Find me Java jobs", "Twelve Java jobs."),
        Line("25k or more", "Four Java jobs from 25k.", needs=("Find me Java jobs",)),
    ),
    "C26-zh": (
        Line("帮我找 Java 岗位", "找到 12 个 Java 岗位。"),
        Line("薪资 25k 以上的", "25k 以上的 Java 岗位有 4 个。", needs=("帮我找 Java 岗位",)),
    ),
    "E01-en": (
        Line("How is the sales ranking?", "1 Ada, 2 Bob, 3 Chen."),
        Line("And the last place?", "Chen is last in the sales ranking.", needs=("sales ranking", "3 Chen")),
    ),
    "E01-zh": (
        Line("销售排名怎么样？", "第一 Ada，第二 Bob，第三 小陈 🏅"),
        Line("那最后一名呢？", "销售排名最后一名是小陈。", needs=("销售排名", "第三 小陈")),
    ),
}


def model_of(lines: tuple[Line, ...], prompt: Prompt) -> str:
    """Answer the last message if everything it refers to stands in the prompt's earlier messages."""
    line = next(line for line in lines if line.said == words(prompt))
    earlier = "\n".join(text for _, text in talk(prompt)[:-1])
    return line.answer if all(need in earlier for need in line.needs) else LOST


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with stage(tmp_path_factory.mktemp("scenes"), f"{AGENT}\nchannels: {HOOK}") as running:
        yield running


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("scene", SCENES)
async def test_a_scene_is_understood_from_what_was_said_before(scene: str, world: Stage) -> None:
    """A02, B02, C26, E01: what refers back is resolved, because the earlier turns stand in the prompt."""
    lines = SCENES[scene]
    world.play(lambda prompt: model_of(lines, prompt))
    hook = world.hook()

    turns = [await hook.say(line.said, sender="ada", conversation=scene) for line in lines]
    stranger = await hook.say(lines[-1].said, sender="ada", conversation=f"{scene}, elsewhere")

    assert [line.answer for line in lines] == [turn["reply"]["text"] for turn in turns]
    assert LOST == stranger["reply"]["text"], "nothing but the prompt can tell it"
    assert 1 == len({turn["session"] for turn in turns})
    for prompt in world.model.prompts:
        assert ["system"] == [message["role"] for message in prompt if message["role"] == "system"]
        roles = [role for role, _ in talk(prompt)]
        assert ["user", "assistant"] * (len(roles) // 2) + ["user"] == roles


async def test_ten_turns_in_a_window_of_eight_with_a_restart_between(
    storage: str, tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    """A36, C24, D03, D05: turns 1 and 2 are out, turn 3 comes first, the tenth message last; half of it was said to a process
    that was killed since (LangBot#804)."""
    async with model_server(lambda prompt: f"答 {len(users(prompt))}") as model:
        config = write_config(tmp_path, f"{AGENT.replace('MODEL', model.url)}\nchannels: {HOOK}", storage=storage)
        async with gateway(config) as first:
            for number in range(1, 6):
                await Hook(session, first).say(f"question {number} 第{number}问")
            await first.kill()
        leases_end(storage)
        async with gateway(config) as second:
            turns = [await Hook(session, second).say(f"question {number} 第{number}问") for number in range(6, 10)]
            await learned(storage)  # the window would reach back to what is not learned from yet
            turns.append(await Hook(session, second).say("question 10 第10问"))

    assert ["answered"] * 5 == [turn["status"] for turn in turns]
    assert [f"question {number} 第{number}问" for number in range(3, 11)] == users(model.prompts[-1])
    assert 15 == len(talk(model.prompts[-1]))


@pytest.mark.parametrize("cache", ["", "redis"])
async def test_two_instances_share_one_history(
    cache: str, postgres_url: str, tmp_path: Path, session: aiohttp.ClientSession, request: pytest.FixtureRequest
) -> None:
    """B18: turn 1 on instance A, turn 2 on B, turn 3 on A again; each sees all before it."""
    storage = f"{postgres_url}\nredis: {request.getfixturevalue('redis_url')}" if cache else postgres_url
    async with model_server(lambda prompt: "noted") as model:
        config = write_config(tmp_path, f"{AGENT.replace('MODEL', model.url)}\nchannels: {HOOK}", storage=storage)
        async with gateway(config) as one, gateway(config) as other:
            for place, text in ((one, "I am Ada 艾达"), (other, "and I like tea"), (one, "who am I?")):
                await Hook(session, place).say(text)

    assert ["I am Ada 艾达", "and I like tea", "who am I?"] == users(model.prompts[-1])
    assert [1, 2, 3] == [len(users(prompt)) for prompt in model.prompts]
