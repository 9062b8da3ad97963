"""Explaining a turn and making its prompt again, from ids alone, on real databases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from memory.base import Fact, Identity, ProfileItem, Quoted, Store, Summary
from memory.coverage import coverage
from memory.policy import Policy
from memory.replay import Explanation, Replay
from memory.turn import Incoming, Prepared
from tests.contracts.columns import COLUMNS, Column
from tests.unit.remembering import NOW, Talk, key_of, remembering, scope

POLICY = Policy(down_weight="all", system="Be kind.", observed_messages=5)
GROUP: dict[str, Any] = {"chat_type": "group", "policy": POLICY}


@pytest.fixture(params=COLUMNS)
def column(request: pytest.FixtureRequest) -> Column:
    return COLUMNS[request.param](request)


@pytest.fixture
async def talk(column: Column) -> AsyncIterator[Talk]:
    async with remembering(column) as opened:
        yield opened


async def eventful(talk: Talk) -> Prepared:
    """Have a talk with everything in it, and answer its last turn."""
    for number in range(1, 10):
        await talk.say(
            f"question {number}", f"answer {number} [1]", user=f"U{number % 2 + 2}", speaker_name="Ann", **GROUP
        )
    await talk.say("ok", "Fine.", **GROUP)
    said = Incoming(key=key_of(chat_type="group", user="U9"), event_id=1, text="lunch?", speaker_name="Zed")
    await talk.memory.observe(scope(chat_type="group"), said, agent_change="fresh")
    quote = Quoted(name="Carl", text="I pay")
    prepared = await talk.ask("[Bob]: and now?", "好的，订单 8821", quote=quote, language="zh", **GROUP)
    await talk.answer(prepared, "Here it is.", usage={"prompt": 500, "completion": 9})
    return prepared


async def explain(talk: Talk, prepared: Prepared, policy: Policy | None = POLICY) -> Explanation:
    explanation = await talk.memory.explain(prepared.turn.turn_id, policy)
    assert explanation is not None
    return explanation


async def replay(talk: Talk, prepared: Prepared, policy: Policy = POLICY, **fields: Any) -> Replay:
    made = await talk.memory.replay(prepared.turn.turn_id, policy, **fields)
    assert made is not None
    return made


class TestExplain:
    """What the model saw."""

    async def test_every_candidate_with_its_text(self, talk: Talk) -> None:
        """Each row with speaker, text, verdict and rule; the system block as it was; the drawer's JSON with ids as text."""
        prepared = await eventful(talk)
        explanation = await explain(talk, prepared)
        by_text = {entry.text: entry for entry in explanation.entries}

        assert explanation.exact
        assert prepared.context.system == explanation.system
        assert ("window", "user", "Ann (U2)", "out", "turn_limit") == _of(by_text["question 2"])
        assert ("window", "assistant", "helper", "in", "window") == _of(by_text["answer 8 [1]"])
        assert ("window", "user", "Alice", "out", "low_value") == _of(by_text["ok"])
        assert ("observed", "memory", "Zed", "in", "observed") == _of(by_text["lunch?"])
        assert ("message", "user", "Alice", "in", "current_turn") == _of(by_text["好的，订单 8821"])
        assert {"prompt": 500, "completion": 9} == explanation.usage
        decoded = msgspec.json.decode(msgspec.json.encode(explanation))
        assert str(prepared.turn.turn_id) == decoded["turn"]
        assert all(isinstance(id_, str) for entry in decoded["entries"] for id_ in entry["ids"])

    async def test_texts_are_those_of_then(self, talk: Talk) -> None:
        """An edit afterwards does not change what a turn saw; a deletion does: the text is gone everywhere."""
        first = await talk.say("tail 8821", "noted", policy=POLICY)
        second = await talk.say("and the colour is white", "noted", policy=POLICY)
        last = await talk.say("which tail?", "8821", policy=POLICY)
        await talk.memory.edit(scope(), _platform_id(first), by=key_of(), text="tail 8812")
        edited = await explain(talk, last)
        await talk.memory.delete(scope(), _platform_id(second), by=key_of())
        deleted = await explain(talk, last)

        assert "tail 8821" in [entry.text for entry in edited.entries]
        assert edited.exact
        assert "white" not in str(deleted)
        assert not deleted.exact

    async def test_talk_whose_time_is_over_is_not_shown_any_more(self, talk: Talk, column: Column) -> None:
        """The ledger may be kept longer: its entries stand without a word, and there is nothing to make again."""
        prepared = await talk.say("hello friend 朋友", "hi there", policy=POLICY)
        await column.sql("UPDATE ledgers SET due_ms = NULL")
        async with column.open() as store:
            assert 2 == await store.purge_messages(before_ms=NOW + 86_400_000, limit=9)
        explanation = await explain(talk, prepared)

        assert not explanation.exact
        assert not any(word in str(explanation) for word in ("friend", "朋友", "hi there"))
        assert await talk.memory.replay(prepared.turn.turn_id, POLICY) is None

    async def test_without_the_settings_of_then(self, talk: Talk) -> None:
        """Everything but the system block can still be told."""
        prepared = await talk.say("hello friend", "hi", policy=POLICY)
        explanation = await explain(talk, prepared, None)

        assert ("", False) == (explanation.system, explanation.exact)
        assert "hello friend" in [entry.text for entry in explanation.entries]

    async def test_a_turn_without_a_ledger(self, talk: Talk) -> None:
        """Unknown or purged: nothing to tell."""
        assert await talk.memory.explain(1, POLICY) is None
        assert await talk.memory.replay(1, POLICY) is None


class TestReplay:
    """The same prompt again, or another one."""

    async def test_nothing_changed_gives_the_same_bytes(self, talk: Talk) -> None:
        """C13: the prompt of then to the byte, from ids, settings and the frame, though the talk went on."""
        prepared = await eventful(talk)
        await talk.say("and one more", "yes", **GROUP)
        made = await replay(talk, prepared, was=POLICY)

        assert made.identical
        assert () == made.difference
        assert prepared.context == made.context
        assert prepared.ledger.entries == made.ledger.entries

    async def test_a_shorter_and_another_agents_prompt_too(self, talk: Talk) -> None:
        """What a refusal or a fallback changed is in the frame."""
        for _ in range(5):
            await talk.say("word " * 100, "word " * 100, policy=POLICY)
        backup = msgspec.structs.replace(POLICY, agent="backup", system="I am the backup.")
        asked = await talk.ask("and now, friend?", policy=POLICY)
        prepared = talk.memory.shortened(await talk.memory.handed_over(asked, policy=backup, revision="later"))
        await talk.answer(prepared, "here")

        assert (await replay(talk, prepared, backup)).identical

    async def test_carried_talk_too(self, talk: Talk) -> None:
        """The former agent's rows are found in their own scope."""
        await talk.say("I want shoes", "Which size?", policy=POLICY)
        prepared = await talk.ask("42, please", agent="sales", agent_change="carry", policy=POLICY)
        await talk.answer(prepared, "ok")

        assert (await replay(talk, prepared)).identical
        assert ["I want shoes", "Which size?"] == [
            e.text for e in (await explain(talk, prepared)).entries if e.section == "carried"
        ]

    async def test_exact_counts_too(self, talk: Talk) -> None:
        """The tokenizer of then counts again."""
        policy = msgspec.structs.replace(POLICY, model="gpt-5", tokens=100)
        await talk.tokenizers.warm()
        for _ in range(5):
            await talk.say("订单 8821 还没到 " * 3, "请稍等 " * 5, policy=policy)
        prepared = await talk.say("何时到？", "明天", policy=policy)

        assert "o200k" == prepared.ledger.tokenizer
        assert (await replay(talk, prepared, policy, was=policy)).identical

    async def test_other_settings_give_a_readable_difference(self, talk: Talk) -> None:
        """Row by row, budget by budget, and the two prompts line by line."""
        prepared = await eventful(talk)
        made = await replay(
            talk, prepared, msgspec.structs.replace(POLICY, turns=2, tokens=300, system="Be brief."), was=POLICY
        )
        difference = "\n".join(made.difference)

        assert not made.identical
        assert "history_limit: 6000 -> 300 tokens" in difference
        assert "in (window, " in difference
        assert "-> out (turn_limit, " in difference
        assert "-Be kind.\n+Be brief." in difference
        assert "-[Ann (U3)]: question 5" in difference

    async def test_another_model_counts_its_own_way(self, talk: Talk) -> None:
        """The difference names both tokenizers."""
        prepared = await talk.say("hello friend", "hi", policy=POLICY)
        await talk.tokenizers.warm()
        made = await replay(talk, prepared, msgspec.structs.replace(POLICY, model="gpt-5"), was=POLICY)

        assert "tokenizer: estimate x1.00 -> o200k" in made.difference

    async def test_what_was_deleted_since_is_said(self, talk: Talk) -> None:
        """Byte-identity ends where text had to go; the difference says which row."""
        first = await talk.say("my PIN is 1234", "noted", policy=POLICY)
        prepared = await talk.say("which PIN?", "1234", policy=POLICY)
        await talk.memory.delete(scope(), _platform_id(first), by=key_of())
        made = await replay(talk, prepared, was=POLICY)

        assert not made.identical
        assert "-> out (deleted, " in "\n".join(made.difference)
        assert "rows have changed since: the prompt of then cannot be made again exactly" in made.difference

    async def test_a_turn_whose_question_is_gone_cannot_be_replayed(self, talk: Talk, column: Column) -> None:
        """Erased rows leave a ledger that explains, and nothing to replay."""
        prepared = await talk.say("hello friend", "hi", policy=POLICY)
        await column.sql("DELETE FROM messages")

        assert await talk.memory.replay(prepared.turn.turn_id, POLICY) is None
        assert [""] * len(prepared.ledger.entries) == [entry.text for entry in (await explain(talk, prepared)).entries]


class TestMemorySections:
    """Rows of the other sources, which later parts write."""

    async def test_they_are_explained_and_replayed(self, column: Column) -> None:
        """Summary, facts, pinned constraints and profile items, fetched again by id; one taken back since is said."""
        async with remembering(column) as talk, column.open() as store:
            person_id = await store.person(Identity(kind="web", tenant="", account="U1"), now_ms=NOW)
            await talk.say("hello friend", "hi", policy=POLICY, person_id=person_id)
            loaded = await talk.memory.load(scope(), person_id=person_id, policy=POLICY, agent_change="fresh")
            await _remember(store, loaded.window[0].scope_id, loaded.session_id, person_id)
            prepared = await talk.say("what do you know?", "this", policy=POLICY, person_id=person_id)
            explanation = await explain(talk, prepared)
            same = await replay(talk, prepared, was=POLICY)
            await store.put_profile([_item(62, "likes white", person_id=person_id, status="retracted")])
            other = await replay(talk, prepared, was=POLICY)

        assert [
            ("pinned", "allergic to penicillin"),
            ("profile", "likes white"),
            ("summary", "They talked."),
            ("facts", "order 8821"),
        ] == [(entry.section, entry.text) for entry in explanation.entries if entry.role == "memory"]
        assert same.identical
        assert "profile 62: in (recent, 4 tokens) -> no longer kept" in other.difference

    async def test_settings_that_change_whose_rows_count(self, column: Column) -> None:
        """Under another namespace the profile stays out; the prompt of then is shown as it was, as no row has changed."""
        async with remembering(column) as talk, column.open() as store:
            person_id = await store.person(Identity(kind="web", tenant="", account="U1"), now_ms=NOW)
            await store.put_profile([_item(62, "likes white", person_id=person_id)])
            prepared = await talk.say("what do you know?", "this", policy=POLICY, person_id=person_id)
            elsewhere = msgspec.structs.replace(POLICY, namespace="other")
            other = await replay(talk, prepared, elsewhere, was=POLICY)

        assert prepared.context == other.then
        assert "likes white" in prepared.context.system
        assert "likes white" not in other.context.system
        assert not [line for line in other.difference if "rows have changed" in line]


async def _remember(store: Store, scope_id: int, session_id: str, person_id: int) -> None:
    of_session: dict[str, Any] = {"scope_id": scope_id, "session_id": session_id, "created_ms": NOW}
    await store.put_summary(
        Summary(id=60, text="They talked.", first_id=1, last_id=2, digest=coverage("", ()), tokens=3, **of_session)
    )
    await store.put_profile(
        [
            _item(61, "allergic to penicillin", person_id=person_id, pinned=True),
            _item(62, "likes white", person_id=person_id),
        ]
    )
    fact: dict[str, Any] = {"slot": "order", "value": "8821", "source_ids": (1,), "status": "active"}
    await store.put_facts(
        [Fact(id=63, person_id=person_id, speaker_name="Alice", expires_ms=NOW + 10**9, **fact, **of_session)]
    )


def _item(id_: int, text: str, **fields: Any) -> ProfileItem:
    defaults: dict[str, Any] = {
        "id": id_, "person_id": 1, "namespace": "shared", "kind": "preference", "slot": "", "text": text, "pinned": False,
        "chat_type": "private", "source_ids": (1,), "status": "active", "valid_from_ms": 0, "valid_to_ms": None,
    }  # fmt: skip
    return ProfileItem(**(defaults | fields))


def _of(entry: Any) -> tuple[str, str, str, str, str]:
    return entry.section, entry.role, entry.speaker, entry.verdict, entry.rule


def _platform_id(prepared: Prepared) -> str:
    message_id = prepared.turn.messages[0].platform_message_id
    assert message_id is not None
    return message_id
