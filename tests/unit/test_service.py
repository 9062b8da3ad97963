"""The memory facade: a turn's whole way through memory, and what fails apart; the same calls, the same prompts, whatever the
database and whether a cache stands before it (A04 to A09, C02)."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memory.base import Owner, Quoted
from memory.errors import Fenced, MemoryFault
from memory.policy import Policy
from memory.reading import filled, question_pending
from memory.turn import Incoming, Reply
from tests.contracts.columns import COLUMNS, Column, SqliteColumn
from tests.contracts.store import item
from tests.unit.remembering import NOW, Talk, key_of, remembering, rules, scope, texts

PLAIN = Policy(down_weight="none")
OWNER = Owner(scope_id=1, person_id=1, namespace="shared", chat_type="private")


@pytest.fixture(params=COLUMNS)
def column(request: pytest.FixtureRequest) -> Column:
    return COLUMNS[request.param](request)


@pytest.fixture
async def talk(column: Column) -> AsyncIterator[Talk]:
    async with remembering(column) as opened:
        yield opened


class TestTurn:
    """`load_and_append`, the agent, `append` (A05 to A07)."""

    async def test_ten_turns_and_a_window_of_eight(self, talk: Talk) -> None:
        """A36 through a real store: the current question is appended before the load."""
        for number in range(1, 10):
            await talk.say(f"question {number}", f"answer {number}")
        prepared = await talk.ask("question 10")

        assert "question 3" == texts(prepared)[0]
        assert "question 10" == texts(prepared)[-1]
        assert 15 == len(texts(prepared))

    async def test_a_reply_is_stored_with_all_the_agent_told(self, talk: Talk) -> None:
        """A17, A18, E03: text, thinking and the time of the look-up stand on the row."""
        prepared = await talk.ask("stock?")
        message = await talk.answer(prepared, "17 left", thinking="hm", thinking_s=1.5, looked_up_ms=5)

        assert ("assistant", "17 left", "hm", 1.5, 5) == (
            message.role, message.text, message.thinking, message.thinking_s, message.looked_up_ms,
        )  # fmt: skip
        assert message.id > prepared.inputs.loaded.appended[0].id
        assert prepared.session_id == message.session_id

    async def test_messages_answered_together_are_one_turn(self, talk: Talk) -> None:
        """Collected messages are appended in order and merged in the prompt."""
        prepared = await talk.ask("running shoes", "order tail 8821")

        assert ["running shoes\n\norder tail 8821"] == texts(prepared)
        assert ["current_turn", "current_turn"] == rules(prepared)

    async def test_two_instances_see_one_history(self, column: Column) -> None:
        """B18: turn 1 on one instance, turn 2 on another."""
        async with remembering(column) as one, remembering(column, instance=2) as two:
            await one.say("I am Ann", "Hello Ann")

            assert ["I am Ann", "Hello Ann", "who am I?"] == texts(await two.ask("who am I?", turn_id=900))

    async def test_nobody_sees_anothers_talk(self, talk: Talk) -> None:
        """openclaw/openclaw#7215: another user, room, channel, kind of chat or agent starts from nothing (C18, C19)."""
        await talk.say("my PIN is 1234", "noted")

        for other in ({"user": "U2"}, {"channel": "tg"}, {"room": "r2"}, {"chat_type": "group"}, {"agent": "other"}):
            assert "PIN" not in str((await talk.ask("what do you know?", **other)).context)

    async def test_what_a_message_replies_to_is_kept(self, talk: Talk) -> None:
        """The quote stands in this prompt and in later ones."""
        quote = Quoted(name="Clew", text="Your order ships today", by_bot=True)
        first = await talk.ask("are you sure?", quote=quote, reply_to="x")
        await talk.answer(first, "yes")

        assert (
            "[replying to you: “Your order ships today”]\nare you sure?" == texts(await talk.ask("thanks, and now?"))[0]
        )

    async def test_new_ends_the_session(self, talk: Talk) -> None:
        """`/new`: the next turn opens a session, its window is empty; nothing to end is no error (B32)."""
        first = await talk.say("hello there friend", "hi")

        assert await talk.memory.end_session(scope(), agent_change="fresh")
        assert not await talk.memory.end_session(scope(), agent_change="fresh")
        second = await talk.ask("who are you?")
        assert ["who are you?"] == texts(second)
        assert second.session_id != first.session_id
        assert second.inputs.loaded.session_opened

    async def test_a_line_for_who_debugs(self, talk: Talk, caplog: pytest.LogCaptureFixture) -> None:
        """A26: scope, person, summary or not, number of messages, milliseconds; never a text."""
        await talk.say("SECRET", "SECRET")
        with caplog.at_level(logging.DEBUG, logger="memory.service"):
            await talk.ask("SECRET")
        (line,) = caplog.records

        assert ("memory loaded", 1, False, 2) == (line.message, line.person, line.summary, line.messages)  # type: ignore[attr-defined]
        assert "SECRET" not in str(line.__dict__)


class TestRepeats:
    """Every step can be done again after a crash."""

    async def test_a_turn_done_twice_is_stored_once(self, talk: Talk) -> None:
        """The rows of the first run stand; there was no reply yet."""
        turn = talk.turn("hello friend")
        await talk.memory.load_and_append(turn)
        again = await talk.memory.load_and_append(turn)

        assert ["hello friend"] == texts(again)
        assert again.stored_reply is None

    async def test_a_stored_reply_is_found(self, talk: Talk) -> None:
        """A crash between the reply and its delivery: the answer is there, nobody is asked again."""
        turn = talk.turn("hello friend")
        await talk.answer(await talk.memory.load_and_append(turn), "Hello!")

        assert "Hello!" == (await talk.memory.load_and_append(turn)).stored_reply

    async def test_the_first_reply_stands(self, talk: Talk) -> None:
        """A second append of the same turn's reply changes nothing."""
        prepared = await talk.ask("hello friend")
        await talk.answer(prepared, "one")

        assert "one" == (await talk.answer(prepared, "two")).text

    async def test_an_overtaken_owner_writes_nothing(self, talk: Talk) -> None:
        """A lost lease shows as `Fenced`, on both appends."""
        prepared = await talk.ask("hello friend", fence=5)

        with pytest.raises(Fenced):
            await talk.memory.load_and_append(talk.turn("late", fence=4))
        with pytest.raises(Fenced):
            await talk.answer(prepared, "late")


class TestFillers:
    """Decided once, on append, with what was asked before (C06, F5)."""

    async def test_small_talk_is_dropped_from_later_prompts(self, talk: Talk) -> None:
        """Stored, answered, and out of the next window."""
        await talk.say("where is it?", "It ships today.")
        await talk.say("好的", "Fine.")
        prepared = await talk.ask("when exactly?")

        assert ["where is it?", "It ships today.\n\nFine.", "when exactly?"] == texts(prepared)
        assert "low_value" in rules(prepared)

    async def test_the_answer_to_a_question_stays(self, talk: Talk) -> None:
        """F5: 好的 after "shall I cancel?" is a decision, in every later prompt."""
        await talk.say("cancel it?", "Shall I cancel the order?")
        await talk.say("好的", "Cancelled.")

        assert "好的" in texts(await talk.ask("sure?"))

    @pytest.mark.parametrize(
        ("asked", "kept"),
        [
            ({"reply_to": "b1", "quote": Quoted(name="Bot", text="要取消订单吗？", by_bot=True)}, True),
            ({"reply_to": "b1", "quote": Quoted(name="Bob", text="Lunch at noon.")}, True),
            ({"reply_to": "b1"}, True),
            ({"reply_to": "b1", "quote": Quoted(name="Bot", text="已收到。", by_bot=True)}, False),
        ],
    )
    async def test_the_answer_to_an_older_question_stays(self, talk: Talk, asked: dict[str, Any], kept: bool) -> None:
        """F5: "OK" as a reply to a message answers that one, whatever was said last."""
        await talk.say("cancel 8821", "Cancelled: 8821.")
        await talk.say("好的", "Fine.", **asked)

        assert kept == ("low_value" not in rules(await talk.ask("what now?")))

    async def test_a_channels_own_fillers(self, talk: Talk) -> None:
        """`memory.fillers` adds words."""
        policy = msgspec.structs.replace(PLAIN, fillers=("ahoy",))
        await talk.say("where is it?", "It ships today.")
        await talk.say("Ahoy!", "Fine.", policy=policy)

        assert "Ahoy!" not in str(texts(await talk.ask("when exactly?")))

    async def test_a_question_that_cannot_be_looked_up_counts_as_asked(self, tmp_path: Path) -> None:
        """In doubt a filler is kept (the store is closed)."""
        column = SqliteColumn(tmp_path)
        async with remembering(column) as talk, column.open() as store:
            await talk.say("where is it?", "It ships today.")

        assert await question_pending(store, OWNER, talk.turn("ok"), now_ms=NOW)
        assert not await question_pending(store, OWNER, talk.turn("where is it?"), now_ms=NOW)

    async def test_fillers_do_not_shorten_the_window(self, talk: Talk) -> None:
        """The window is filled from further back, page by page, within the candidates allowed."""
        policy = msgspec.structs.replace(PLAIN, turns=3, messages=60)
        for number in range(1, 5):
            await talk.say(f"question {number}", f"answer {number}", policy=policy)
        for _ in range(20):
            await talk.say("ok", "Fine.", policy=policy)
        prepared = await talk.ask("question 5", policy=policy)
        few = await talk.ask("question 6", policy=msgspec.structs.replace(policy, candidates=10))

        assert "question 3" == texts(prepared)[0]
        assert 10 == len(few.inputs.loaded.window)

    async def test_older_messages_that_cannot_be_read_cost_only_themselves(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """What the first read gave is used, and the ledger says that it was not all (the store is closed)."""
        column = SqliteColumn(tmp_path)
        async with remembering(column) as talk, column.open() as store:
            await talk.say("ok", "Fine.")
            loaded = msgspec.structs.replace(
                await talk.memory.load(scope(), person_id=1, policy=PLAIN, agent_change="fresh"), more=True
            )
        read = await filled(store, OWNER, loaded, PLAIN)

        assert (("window",), loaded.window) == (read.failed, read.window)
        assert ["older messages could not be read"] == caplog.messages


class TestFailure:
    """The append is the law; a load that fails costs its part (A27 to A31)."""

    async def test_a_lost_summary_table_costs_the_summary(
        self, talk: Talk, column: Column, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A28, A30: history still loads, the request goes on, the loss is logged and in the ledger."""
        await talk.say("I am Ann", "Hello Ann")
        await column.sql("DROP TABLE summaries")
        prepared = await talk.ask("who am I?")

        assert ["I am Ann", "Hello Ann", "who am I?"] == texts(prepared)
        assert ("summary",) == prepared.ledger.failed
        assert "parts of memory could not be read" in caplog.messages

    async def test_an_older_row_that_cannot_be_read_costs_what_is_older(self, talk: Talk, column: Column) -> None:
        """A31: damaged, or of another release, and found only where the window goes on looking behind small talk."""
        await talk.say("question 1", "answer 1")
        for _ in range(30):
            await talk.say("ok", "Fine.")
        await talk.say("question 2", "answer 2")
        await column.sql("UPDATE messages SET quote = '{}' WHERE text = 'question 1'")
        prepared = await talk.ask("question 3", policy=msgspec.structs.replace(PLAIN, turns=3))

        assert ["question 2", "question 3"] == [text for text in texts(prepared) if "question" in text]
        assert ("window",) == prepared.ledger.failed

    async def test_a_message_that_cannot_be_stored_is_an_error(self, talk: Talk, column: Column) -> None:
        """Nothing was answered, so the turn is tried again."""
        await talk.say("I am Ann", "Hello Ann")
        await column.sql("ALTER TABLE messages RENAME TO gone")

        with pytest.raises(MemoryFault):
            await talk.ask("who am I?")

    async def test_a_memory_that_cannot_be_read_at_all_is_empty(
        self, talk: Talk, column: Column, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A27: an empty list and a logged error, never an exception."""
        await column.sql("ALTER TABLE scopes RENAME TO gone")
        loaded = await talk.memory.load(scope(), person_id=1, policy=PLAIN, agent_change="fresh")

        assert () == loaded.window
        assert "window" in loaded.failed
        assert "memory could not be read" in caplog.messages

    async def test_a_ledger_that_cannot_be_stored_is_logged(
        self, talk: Talk, column: Column, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The notice to the person matters more than the record of why."""
        prepared = await talk.ask("hello friend")
        await column.sql("DROP TABLE ledgers")
        await talk.memory.record(prepared, notes=("agent_timeout",))

        assert ["ledger not stored"] == caplog.messages


class TestLedger:
    """What is recorded of a turn."""

    async def test_the_reply_brings_the_ledger_with_it(self, talk: Talk) -> None:
        """Usage, notes, revision, place and counts; stored with the reply."""
        prepared = await talk.ask("hello friend", language="zh")
        await talk.memory.append(prepared, _reply("Hi", {"prompt": 100, "completion": 5}), fence=1, notes=("slow",))
        ledger = await talk.memory.ledger(prepared.turn.turn_id)

        assert ledger is not None
        assert {"prompt": 100, "completion": 5} == ledger.usage
        assert ("slow",) == ledger.notes
        assert ("rev1", "web", "r1", "zh") == (
            ledger.revision, ledger.frame.channel, ledger.frame.conversation, ledger.frame.language,
        )  # fmt: skip

    async def test_a_turn_without_a_reply_has_one_too(self, talk: Talk) -> None:
        """A failed turn can be explained."""
        prepared = await talk.ask("hello friend")
        await talk.memory.record(prepared, usage={"prompt": 1}, notes=("agent_timeout: 180 s",))
        ledger = await talk.memory.ledger(prepared.turn.turn_id)

        assert ledger is not None
        assert ("agent_timeout: 180 s",) == ledger.notes

    async def test_reports_calibrate_the_models_estimate(self, talk: Talk) -> None:
        """What the service counted moves the next prompt's count; exact counting is not touched."""
        policy = msgspec.structs.replace(PLAIN, model="qwen3", system="word " * 200)
        for _ in range(10):
            prepared = await talk.ask("hello friend", policy=policy)
            await talk.memory.append(prepared, _reply("Hi", {"prompt": 2 * prepared.context.tokens}), fence=1)
        exact = msgspec.structs.replace(policy, model="gpt-5")
        prepared = await talk.ask("hello friend", policy=exact)
        await talk.memory.append(prepared, _reply("Hi", {"prompt": 9999}), fence=1)

        assert talk.tokenizers.calibration.factor("qwen3") > 1.5
        assert 1.0 == talk.tokenizers.calibration.factor("gpt-5")
        assert (await talk.ask("hello", policy=policy)).ledger.tokenizer.startswith("estimate x")


class TestAgain:
    """The same turn with another prompt."""

    async def test_half_as_long(self, talk: Talk) -> None:
        """A refusal as too long: half the tokens, and the ledger says so (AstrBotDevs/AstrBot#1054)."""
        for _ in range(4):
            await talk.say("word " * 200, "word " * 200)
        prepared = await talk.ask("and now, friend?")
        shorter = talk.memory.shortened(prepared)

        assert shorter.context.tokens <= prepared.context.tokens // 2
        assert "and now, friend?" == texts(shorter)[-1]
        assert ("context refused: trimmed harder once",) == shorter.ledger.notes

    async def test_for_the_fallback_agent(self, talk: Talk) -> None:
        """Its own role and window; the ledger names who answered, and a limit of the first agent is not its."""
        prepared = talk.memory.shortened(await talk.ask("hello friend"))
        backup = Policy(agent="backup", model="m2", system="I am the backup.")
        other = await talk.memory.handed_over(prepared, policy=backup, revision="later")

        assert other.context.system.startswith("I am the backup.")
        assert ("backup", "m2", None) == (other.ledger.agent, other.ledger.frame.model, other.ledger.frame.limit_tokens)
        assert ("answered by backup", "later") == (other.ledger.notes[-1], other.ledger.revision)

    async def test_a_fallback_knows_of_the_person_what_its_namespace_does(self, column: Column, talk: Talk) -> None:
        """Agents of another namespace share no profile, also when one steps in for the other (DESIGN 2): what the first one
        knew leaves the prompt, what the second one may know enters it."""
        async with column.open() as store:
            white, blue = item(1, text="likes white"), item(2, text="讨厌蓝色", namespace="theirs", pinned=True)
            await store.put_profile([white, blue])
        prepared = await talk.ask("hello friend", person_id=7)
        assert "likes white" in prepared.context.system

        same = await talk.memory.handed_over(prepared, policy=Policy(agent="backup"), revision="r")
        other = await talk.memory.handed_over(prepared, policy=Policy(agent="b", namespace="theirs"), revision="r")

        assert "likes white" in same.context.system
        assert "likes white" not in other.context.system
        assert "讨厌蓝色" in other.context.system


class TestGroup:
    """Several people and one bot."""

    async def test_speakers_are_told_apart(self, talk: Talk) -> None:
        """B49 to B52: one window, two voices."""
        await talk.say("white for me", "noted", chat_type="group")
        await talk.say("black for me", "noted", chat_type="group", user="U2", speaker_name="Bob", person_id=2)

        assert ["[Alice]: white for me", "noted", "[Bob]: black for me", "noted", "[Alice]: and mine?"] == texts(
            await talk.ask("and mine?", chat_type="group")
        )

    async def test_observed_talk_is_background(self, talk: Talk) -> None:
        """Kept apart, shown attributed, edited and deleted with its message."""
        policy = msgspec.structs.replace(PLAIN, observed_messages=5)
        for number, text in enumerate(("lunch?", "at noon", "my PIN is 1234"), 1):
            said = Incoming(
                key=key_of(chat_type="group", user="U9"),
                event_id=number,
                text=text,
                speaker_name="Zed",
                platform_message_id=f"o{number}",
            )
            await talk.memory.observe(scope(chat_type="group"), said, agent_change="fresh")
        await talk.memory.delete(scope(chat_type="group"), "o3", by=key_of())
        await talk.memory.edit(scope(chat_type="group"), "o2", by=key_of(), text="at one")
        system = (await talk.ask("what was that?", chat_type="group", policy=policy)).context.system

        assert "[Zed]: lunch?\n[Zed]: at one\n</memory>" in system
        assert "PIN" not in system

    async def test_another_agent_carries_on(self, talk: Talk) -> None:
        """`carry`: the last window of the former agent opens the new one's first session, attributed."""
        await talk.say("I want shoes", "Which size?")
        prepared = await talk.ask("42", agent="sales", agent_change="carry")

        assert "[Alice]: I want shoes\n[agent helper]: Which size?" in prepared.context.system
        assert ["42"] == texts(prepared)


class TestEdits:
    """Edits and deletions on the platform reach memory."""

    async def test_an_edit_counts_and_is_no_filler(self, talk: Talk) -> None:
        """The new text stands in later prompts, "ok" too: somebody cared to write it."""
        first = await talk.say("tail 8821", "noted")
        message_id = first.turn.messages[0].platform_message_id
        assert message_id is not None

        assert await talk.memory.edit(scope(), message_id, by=key_of(), text="ok")
        assert not await talk.memory.edit(scope(), "unknown", by=key_of(), text="ok")
        assert "ok" == texts(await talk.ask("which tail?"))[0]

    async def test_a_deletion_leaves_no_text(self, talk: Talk) -> None:
        """Neither the message nor the reply to it stands in later prompts."""
        first = await talk.say("my PIN is 1234", "Your PIN 1234 is noted")
        message_id = first.turn.messages[0].platform_message_id
        assert message_id is not None

        assert await talk.memory.delete(scope(), message_id, by=key_of())
        assert not await talk.memory.delete(scope(), message_id, by=key_of())
        assert "1234" not in str((await talk.ask("which PIN?")).context)

    async def test_what_memory_holds_can_be_read_without_a_turn(self, talk: Talk) -> None:
        """`load` alone, for `/memory`."""
        await talk.say("tail 8821", "noted")
        loaded = await talk.memory.load(scope(), person_id=1, policy=PLAIN, agent_change="fresh")

        assert ["tail 8821", "noted"] == [row.text for row in loaded.window]


def _reply(text: str, usage: dict[str, int]) -> Reply:
    return Reply(text=text, usage=usage)
