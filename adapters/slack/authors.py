"""Who wrote, and whether it is meant for us: accounts and workspaces in Slack's events. Pure."""

from __future__ import annotations

import msgspec

from adapters.base import Sender
from adapters.problems import Problem
from adapters.slack.reading import TS, Fields, mapping, maps, string
from adapters.strict import usable_id

_SYSTEM = ("USLACK", "USLACKBOT")


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who we are in the workspace (`auth.test`): team, the bot's user and bot id, its name, the Grid's id if it has one."""

    team: str
    user: str
    bot: str
    name: str
    enterprise: str | None = None


def meant_for(me: Identity, payload: Fields) -> bool:
    """Tell whether an event is for this installation: one app in two workspaces gets both workspaces' events at one URL."""
    first = next(iter(maps(payload, "authorizations")), None)
    if first is not None and first.get("is_bot"):
        return string(first, "user_id") == me.user
    context = string(payload, "context_team_id")
    return not context or context in (me.team, me.enterprise)


def author_of(message: Fields, *, payload: Fields, me: Identity) -> Sender | str:
    """Return who wrote a message, or the rule by which it is ignored: `own`, `system`, `no_sender`.

    Our own messages come back as events, also those that another workspace's copy of us wrote. Raises a 400 `Problem`.
    """
    user, bot = string(message, "user"), string(message, "bot_id")
    profile = mapping(message, "bot_profile")
    app, ours = string(message, "app_id") or string(profile, "app_id"), string(payload, "api_app_id")
    if user == me.user or (bot and bot == me.bot) or (app and app == ours):
        return "own"
    if user in _SYSTEM:
        return "system"
    account = user or bot
    if not account:
        return "no_sender"
    is_bot = bool(bot or profile) or message.get("subtype") == "bot_message"
    name = string(profile, "name") or string(message, "username")
    return person(message, account, payload=payload, me=me, name=name, is_bot=is_bot)


def person(
    event: Fields, account: str, *, payload: Fields, me: Identity, name: str = "", is_bot: bool = False
) -> Sender:
    """Return an account of the event as a sender, under its own workspace. Raises a 400 `Problem`."""
    team = _team(event, payload, me)
    require(**{"event.user": account, "event.team": team})
    return Sender(user=f"{team}.{account}", tenant=team, account=account, name=name, is_bot=is_bot)


def ourselves(me: Identity) -> Sender:
    """Return the bot as a sender, for what no person did."""
    return Sender(user=f"{me.team}.{me.user}", tenant=me.team, account=me.user, name=me.name, is_bot=True)


def _team(event: Fields, payload: Fields, me: Identity) -> str:
    """Return the author's workspace. A stranger in a shared channel belongs to his own; where Slack names only his company
    (`E…`), that: the host's workspace, which then stands in `team`, would give him rights he does not have."""
    named = [string(event, "user_team"), string(event, "source_team"), string(mapping(event, "user_profile"), "team")]
    companies = [one for one in named if one.startswith("E")]
    workspace = next((one for one in named if one and not one.startswith("E")), "")
    if workspace:
        return workspace
    if companies and payload.get("is_ext_shared_channel") and companies[0] != me.enterprise:
        return companies[0]
    return string(event, "team") or string(payload, "team_id") or me.team


def require(**ids: str) -> None:
    """Raise a 400 `Problem` for the first field that is no usable id."""
    for field, value in ids.items():
        if not usable_id(value):
            raise Problem(400, "bad_event", f"{field}: not an id", field=field)


def require_ts(message: Fields, field: str) -> None:
    """Raise a 400 `Problem` where a field of the message is no message's id."""
    if not TS.fullmatch(string(message, field)):
        raise Problem(400, "bad_event", f"event.{field}: not a message's id", field=f"event.{field}")
