"""From one Slack event or slash command to what the gateway understands, or to the reason why it is nothing for us. Pure.

Names are left out here: they are looked up after the platform has its acknowledgement (`names.py`).
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from adapters.base import (
    DeleteEvent,
    EditEvent,
    InboundEvent,
    MessageEvent,
    MoveEvent,
    Place,
    PresenceEvent,
    Quote,
    Sender,
)
from adapters.slack.authors import Identity, author_of, meant_for, ourselves, person, require, require_ts
from adapters.slack.reading import Fields, is_shared, mapping, maps, mentions, said, shared_text, string
from adapters.strict import digest


class Ignored(msgspec.Struct, frozen=True):
    """Nothing for us. `rule`: `own`, `system`, `service` (joins, topics, pins …), `phantom_edit`, `edited` (a mention told of
    again because it was; the edit comes besides), `other_installation`, `no_sender`, `membership` (of others than
    ourselves), `interaction` (buttons, dialogs), `rate_limited` (Slack dropped events), `unused` (another kind of event that
    Clew does nothing with)."""

    rule: str


SPOKEN = ("", "bot_message", "file_share", "me_message", "thread_broadcast")
"""Subtypes of messages that somebody said. All others are the platform's own, also those it will invent."""


def parse(payload: Fields, *, channel: str, me: Identity, reply_in_thread: bool = True) -> InboundEvent | Ignored:
    """Return the event that a payload of the Events API stands for.

    Raises a 400 `Problem` for what can't come from Slack. With `reply_in_thread` a mention in the open channel is the root of
    a thread of its own, so that the follow-ups there share its memory.
    """
    event = mapping(payload, "event")
    if not meant_for(me, payload):
        return Ignored("other_installation")
    reader = _Reader(payload, event, channel=channel, me=me, reply_in_thread=reply_in_thread)
    match event.get("type"), event.get("subtype"):
        case "message", "message_changed":
            return reader.changed()
        case "message", "message_deleted":
            return reader.deleted()
        case (("message" | "app_mention"), _):
            return reader.message()
        case "member_joined_channel" | "member_left_channel" | "channel_left" | "group_left", _:
            return reader.presence()
        case "channel_id_changed", _:
            return reader.moved()
    return Ignored("unused")


class _Reader:
    """One event callback, read for one installation."""

    def __init__(self, payload: Fields, event: Fields, *, channel: str, me: Identity, reply_in_thread: bool) -> None:
        self._payload = payload
        self._event = event
        self._channel = channel
        self._me = me
        self._reply_in_thread = reply_in_thread

    def message(self) -> InboundEvent | Ignored:
        event = self._event
        if string(event, "subtype") not in SPOKEN or ("message" in event and not event.get("user")):
            return Ignored("service")  # the second: `message_replied`, which comes without its subtype
        if event.get("type") == "app_mention" and event.get("edited"):
            return Ignored("edited")
        sender = self._sender(event)
        if isinstance(sender, Ignored):
            return sender
        mentioned = self._mentioned(event)
        text = without_leading(said(event), user=self._me.user)
        return MessageEvent(
            **self._place(event, mentioned=mentioned),
            sender=sender,
            dedupe_ids=self._dedupe_ids("message", string(event, "ts"), sender.account),
            message_id=string(event, "ts"),
            text=text,
            mentions_bot=mentioned,
            # The trigger only: being in a thread is no reply to its root, which is quoted for nobody.
            reply_to_bot=string(event, "parent_user_id") == self._me.user,
            quote=self._quote(event),
        )

    def changed(self) -> InboundEvent | Ignored:
        before = mapping(self._event, "previous_message")
        after = {"ts": before.get("ts"), **mapping(self._event, "message")}
        if after.get("subtype") == "tombstone":  # a thread's root that was deleted
            return self._gone(before, string(after, "ts"))
        sender = self._sender(after)
        if isinstance(sender, Ignored):
            return sender
        edited = string(mapping(after, "edited"), "ts")
        text = without_leading(said(after), user=self._me.user)
        same = before and text == without_leading(said(before), user=self._me.user)
        # Link previews, reply counters and pins change a message too, but nobody edited it.
        if not edited or same or edited == string(mapping(before, "edited"), "ts"):
            return Ignored("phantom_edit")
        return EditEvent(
            **self._place(after, mentioned=self._mentioned(before or after)),  # as it was when it was said
            sender=sender,
            dedupe_ids=self._dedupe_ids("edit", string(after, "ts"), edited),
            message_id=string(after, "ts"),
            text=text,
            quote=self._quote(after),
        )

    def deleted(self) -> InboundEvent | Ignored:
        return self._gone(mapping(self._event, "previous_message"), string(self._event, "deleted_ts"))

    def _gone(self, before: Fields, ts: str) -> InboundEvent | Ignored:
        sender = self._sender(before)
        if isinstance(sender, Ignored):
            return sender
        return DeleteEvent(
            **self._place(before, mentioned=self._mentioned(before)),
            sender=sender,
            dedupe_ids=self._dedupe_ids("delete", ts),
            message_id=ts,
        )

    def moved(self) -> MoveEvent:
        """A channel that is shared with another workspace may get another id."""
        old, new = string(self._event, "old_channel_id"), string(self._event, "new_channel_id")
        require(**{"event.old_channel_id": old, "event.new_channel_id": new})
        return MoveEvent(
            channel=self._channel,
            room=old,
            chat_type="group",
            sender=ourselves(self._me),
            dedupe_ids=self._dedupe_ids("move", old, new),
            new_room=new,
        )

    def presence(self) -> PresenceEvent | Ignored:
        """Only our own comings and goings matter; `…_left` events are told to who has left."""
        event, room = self._event, string(self._event, "channel")
        kind, who, inviter = (string(event, name) for name in ("type", "user", "inviter"))
        if kind.startswith("member_") and who != self._me.user:
            return Ignored("membership")
        require(**{"event.channel": room})
        return PresenceEvent(
            channel=self._channel,
            room=room,
            chat_type="group",
            sender=person(event, inviter, payload=self._payload, me=self._me) if inviter else ourselves(self._me),
            dedupe_ids=self._dedupe_ids("presence", kind, string(event, "event_ts")),
            present=kind == "member_joined_channel",
        )

    def _place(self, message: Fields, *, mentioned: bool) -> Place:
        room, ts = string(self._event, "channel"), string(message, "ts")
        require(**{"event.channel": room, "event.ts": ts})
        private = string(self._event, "channel_type") == "im" or room.startswith("D")
        begins_thread = mentioned and self._reply_in_thread and not private
        if message.get("thread_ts"):
            require_ts(message, "thread_ts")
        elif begins_thread:
            require_ts(message, "ts")
        # A message that others have answered names itself as its thread's root, and did not when it was said.
        thread = string(message, "thread_ts") if message.get("thread_ts") != ts else ""
        return {
            "channel": self._channel,
            "room": room,
            "thread": thread or (ts if begins_thread else None),
            "chat_type": "private" if private else "group",
        }

    def _sender(self, message: Fields) -> Sender | Ignored:
        found = author_of(message, payload=self._payload, me=self._me)
        return Ignored(found) if isinstance(found, str) else found

    def _mentioned(self, message: Fields) -> bool:
        """`app_mention` is Slack's own word for it, whatever form the mention has."""
        return self._event.get("type") == "app_mention" or self._me.user in mentions(message)

    def _dedupe_ids(self, what: Literal["message", "edit", "delete", "move", "presence"], *ids: str) -> tuple[str, ...]:
        """Name the delivery (equal in all retries) and the thing itself: `message` and `app_mention` of one message differ in
        the first and meet in the second."""
        delivery = string(self._payload, "event_id")
        thing = digest((what, self._me.team, string(self._event, "channel"), *ids))
        return (*((f"event:{digest((delivery,))}",) if delivery else ()), f"{what}:{thing}")

    def _quote(self, event: Fields) -> Quote | None:
        shared = next((one for one in maps(event, "attachments") if is_shared(one)), None)
        if shared is not None:
            author = string(shared, "author_id")
            name = string(shared, "author_name") or (f"<@{author}>" if author else "?")
            return Quote(name=name, text=shared_text(shared), by_bot="bot_id" in shared)
        root = mapping(event, "root")  # only a reply that was also sent to the channel brings its root along
        if not root:
            return None
        author = string(root, "user")
        name = f"<@{author}>" if author else string(root, "username") or "?"
        return Quote(name=name, text=said(root), by_bot="bot_id" in root)


def without_leading(text: str, *, user: str) -> str:
    """Return the text without the mention of `user` that it begins with: an address, not a part of what is said."""
    return re.sub(rf"\A\s*<@{re.escape(user)}>[\s,:，：]*", "", text)


def slash(form: Fields, *, channel: str, me: Identity, prefix: str = "") -> MessageEvent | Ignored:
    """Return what a slash command's form stands for: its text, said to us; it can't be given in a thread. One that was given in
    a workspace where another installation of the app serves is not ours: we could not even answer there.

    Raises a 400 `Problem` for what can't come from Slack.
    """
    team, user, room = (string(form, name) for name in ("team_id", "user_id", "channel_id"))
    trigger = string(form, "trigger_id")
    require(team_id=team, user_id=user, channel_id=room, trigger_id=trigger)
    if team != me.team and (me.enterprise is None or string(form, "enterprise_id") != me.enterprise):
        return Ignored("other_installation")
    name = string(form, "command").removeprefix("/").removeprefix(prefix)
    return MessageEvent(
        channel=channel,
        room=room,
        chat_type="private" if room.startswith("D") else "group",
        sender=Sender(user=f"{team}.{user}", tenant=team, account=user, name=string(form, "user_name")),
        dedupe_ids=(f"command:{digest((me.team, trigger))}",),
        message_id=trigger,
        text=f"/{name} {from_form(form)}".strip(),
        mentions_bot=True,
    )


def from_form(form: Fields) -> str:
    """Return what stands behind a slash command's name."""
    return said({"text": string(form, "text")})
