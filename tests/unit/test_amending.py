"""What edits and deletions make of a message: its last text, or nothing; pure."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Address, DeleteEvent, EditEvent, InboundEvent, MessageEvent, Quote, Sender
from gateway.amending import amended, places_of, subject_of, within
from gateway.inbox.base import Event
from gateway.routing import Route, encode
from memory.key import ConversationKey, ScopeMode, scope_of

_numbers = itertools.count(1)


def event(kind: type[Any], room: str = "r", message_id: str = "m", **fields: Any) -> Any:
    return kind(
        channel="c", room=room, chat_type="private", sender=Sender(user="u", tenant="t", account="u"), dedupe_ids=(),
        message_id=message_id, **fields,
    )  # fmt: skip


def route(said: InboundEvent) -> Route:
    return Route(
        event=said, key="k", scope=("u", "c", "r", "private", "a"), address=Address(channel="c", room="r"),
        agent="a", revision="rev", language="en",
    )  # fmt: skip


def stored(said: InboundEvent | None) -> Event:
    """An event about the message as the inbox keeps it; None: in a form nobody can read."""
    return Event(
        id=next(_numbers), turn_id=1, lane="l", channel="c", kind="control", speaker="u",
        body=b"{}" if said is None else encode(route(said)), token="t", fingerprint=None, state="applied", outcome=None,
        attempts=0, accepted_ms=0,
    )  # fmt: skip


MESSAGE = route(event(MessageEvent, text="first"))
SAID = st.one_of(
    st.builds(lambda text: event(EditEvent, text=text), st.text().filter(str.strip)),
    st.just(event(EditEvent, text="", quote=Quote(name="Ann", text="a question of hers"))),
    st.just(event(MessageEvent, text="itself, told as background")),
    st.none(),
)


@given(st.lists(SAID))
def test_the_last_edit_counts(about: list[InboundEvent | None]) -> None:
    """Whatever else is stored about the message, and whatever of that can't be read."""
    texts = ["first", *(said.text for said in about if isinstance(said, EditEvent))]
    now = amended(MESSAGE, [stored(said) for said in about])

    assert now is not None
    assert isinstance(now.event, MessageEvent)
    assert texts[-1] == now.event.text
    assert (MESSAGE.address, MESSAGE.scope, MESSAGE.language) == (now.address, now.scope, now.language)


GONE = (event(DeleteEvent), event(EditEvent, text=""), event(EditEvent, text=" \n\u3000"))


@given(st.lists(SAID), st.sampled_from(GONE), st.lists(SAID))
def test_what_was_deleted_or_emptied_stays_so(
    before: list[InboundEvent | None], gone: InboundEvent, after: list[InboundEvent | None]
) -> None:
    """No edit, told late, brings it back."""
    about = [*before, gone, *after]

    assert amended(MESSAGE, [stored(said) for said in about]) is None


@given(st.text(), st.integers(1, 200))
def test_an_edit_is_no_longer_than_a_message_may_be(text: str, most: int) -> None:
    """What fits stays as it is; no words become none, which would delete the message."""
    edit = within(event(EditEvent, text=text), most)

    assert isinstance(edit, EditEvent)
    assert text == edit.text if len(text) <= most else len(edit.text) <= most
    assert bool(text.strip()) <= bool(edit.text.strip())


def test_only_edits_are_cut() -> None:
    """A message that is too long is refused, and its sender told."""
    said = event(MessageEvent, text="长" * 300)

    assert within(said, 100) is said
    assert within(event(EditEvent, text="长" * 300), 100).text.startswith("长" * 30)  # type: ignore[union-attr]


@given(st.text(), st.text(), st.text(), st.text())
def test_two_messages_have_two_subjects(room: str, message_id: str, other_room: str, other_id: str) -> None:
    """Whatever stands in the ids; and all that is said of one message has one."""
    one = {subject_of(event(kind, room, message_id, **more)) for kind, more in KINDS}
    other = subject_of(event(DeleteEvent, other_room, other_id))

    assert 1 == len(one)
    assert ((room, message_id) == (other_room, other_id)) is (one == {other})


KINDS: tuple[tuple[type[Any], dict[str, str]], ...] = (
    (MessageEvent, {"text": ""}), (EditEvent, {"text": ""}), (DeleteEvent, {}),
)  # fmt: skip


@pytest.mark.parametrize(
    ("thread", "mode", "places"),
    [
        (None, "conversation", ["房间", "房间/m"]),
        ("m", "conversation", ["房间/m", "房间"]),
        ("t", "conversation", ["房间/t"]),
        ("m", "speaker", ["房间/m", "房间"]),
        (None, "room", ["房间/*"]),
    ],
)
def test_what_may_have_begun_a_thread_is_looked_for_in_it_and_outside(
    thread: str | None, mode: ScopeMode, places: list[str]
) -> None:
    """A message that is edited to name the bot, or not to, is the same message (the key is its writer's in both places)."""
    key = ConversationKey(user="u", channel="c", room="房间", thread=thread, chat_type="group", agent="a")
    scope = scope_of(key, mode=mode)
    said = msgspec.structs.replace(
        route(event(DeleteEvent, "房间", thread=thread)), key=str(key), scope=scope.columns()
    )
    found = list(places_of(said))

    assert places == [scope.conversation for scope, _ in found]
    assert {("u", "房间")} == {(by.user, by.room) for _, by in found}
    assert {scope.user} == {scope.user for scope, _ in found}
