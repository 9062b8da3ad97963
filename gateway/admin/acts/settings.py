"""What can be done about settings, as data: look, change, go back, export. Done in `gateway/admin/settings.py`.

A place in the settings is named by its path: `channels.acme.rooms."C07.1".memory.window.turns`; keys that hold more than letters,
digits, `-` and `_` stand in double quotes.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from config.forms import Field
from gateway.admin.acts.kinds import Channel
from gateway.admin.operations import FieldProblem, Operation

MANY = 200
"""Settings that one change touches at most."""

Path = Annotated[str, msgspec.Meta(min_length=1, max_length=1000, description="A path, such as channels.web.busy.")]
Number = Annotated[int, msgspec.Meta(ge=0, description="A revision's number; 0: before the first.")]
Reason = Annotated[str, msgspec.Meta(max_length=500, description="Why, for who looks at the history.")]


class StatusTold(msgspec.Struct, frozen=True, kw_only=True):
    """`number` is the newest revision that is in force here (0: the file alone), `digest` what turns carry; `problem` why a
    newer one, or the file, is not in force. `secrets` says why no secret can be stored; None: they can. `sections` are those
    that the actor can look at, `fixed` those that only the file can say."""

    number: int
    newest: int
    digest: str
    file: str
    problem: str | None
    secrets: str | None
    sections: tuple[str, ...]
    fixed: tuple[str, ...]
    kinds: tuple[str, ...]
    channels: dict[str, str]  # name to kind
    agents: tuple[str, ...]


class PlaceAsked(msgspec.Struct, frozen=True, kw_only=True):
    channel: Channel
    room: str | None = None
    thread: str | None = None


class ValueTold(msgspec.Struct, frozen=True, kw_only=True):
    """One setting of a place: what applies, by whose word, and what it means."""

    path: str
    value: Any
    origin: str
    default: Any
    unit: str | None
    description: str


class PlaceTold(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that apply in a place; `digest` is what its turns carry now."""

    channel: str
    room: str | None
    thread: str | None
    digest: str
    settings: tuple[ValueTold, ...]


class FormAsked(msgspec.Struct, frozen=True, kw_only=True):
    """`kind`: of a channel that is to be added."""

    path: Path
    kind: str | None = None


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """`set` makes the setting be `value`, a section as a whole; `reset` takes the console's word back, so that the file's counts;
    `remove` makes it be as if nobody had written it. A secret may be the secret itself, which goes into the vault, or
    `vault:NAME`."""

    path: Path
    act: Literal["set", "reset", "remove"] = "set"
    value: Any = None


class ChangeAsked(msgspec.Struct, frozen=True, kw_only=True):
    """`expected`: the revision it was decided on; left out: the newest, whatever it is. With `dry_run` nothing is changed. What
    lets something be deleted for good (`deletes` of the answer) is refused without `delete`."""

    changes: Annotated[tuple[Edit, ...], msgspec.Meta(min_length=1, max_length=MANY)]
    reason: Reason = ""
    expected: Number | None = None
    dry_run: bool = False
    delete: bool = False


class CheckAsked(msgspec.Struct, frozen=True, kw_only=True):
    changes: Annotated[tuple[Edit, ...], msgspec.Meta(min_length=1, max_length=MANY)]


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with changes; nothing, if they could be made now."""

    problems: tuple[FieldProblem, ...]


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that is not the same: what is written, as JSON; null: nothing. `over`: the line of the file that says otherwise.
    `secret`: a secret has another value."""

    path: str
    was: str | None
    now: str | None
    secret: bool = False
    over: str | None = None


class Fresh(msgspec.Struct, frozen=True, kw_only=True):
    """A place whose memory does not simply go on: another agent answers, or others share it. `becomes`: `fresh` (talk begins
    anew), `carry` (with a summary), `alias` (it goes on), `shared` (the talk last spoken in goes on, for more people)."""

    channel: str
    room: str | None
    thread: str | None
    setting: Literal["agent", "scope"]
    was: str
    now: str
    becomes: Literal["fresh", "carry", "alias", "shared"]


class Touched(msgspec.Struct, frozen=True, kw_only=True):
    """A connection or agent that is begun, ended or begun anew; the others stay as they are."""

    what: Literal["channel", "agent"]
    name: str
    how: Literal["added", "removed", "restarted"]


class Deleted(msgspec.Struct, frozen=True, kw_only=True):
    """What a change lets be deleted for good, at the next clean-up (`retention.every_s`), as the setting at `path` keeps less of
    it than before: what is older than `before_ms`, and from then on whatever comes to be as old.

    `what`: `messages` (what was said, in memory), `queue` (messages and replies that have come to their end, dead letters among
    them), `ledgers` (what prompts held), `usage` (what was spent, by day). `count`: how many messages are so old now, 10,000 for
    any more than that; `oldest_ms`: when the oldest was said, or came; None: not looked at, or there is none.
    """

    path: str
    what: Literal["messages", "queue", "ledgers", "usage"]
    before_ms: int
    count: int | None = None
    oldest_ms: int | None = None


class ChangeTold(msgspec.Struct, frozen=True, kw_only=True):
    """What a change changes. `number`: its revision, which a dry run would have been. `in_force`: already so on the instance that
    was asked; the others follow within two seconds. `waits` are sections that count from the next start on, `dropped` secrets
    that go with it. `stayed`: channels that could not be started with their new settings, and why; they run on by those they
    had."""

    number: int
    dry_run: bool
    digest: str
    changes: tuple[Changed, ...]
    fresh: tuple[Fresh, ...]
    touched: tuple[Touched, ...]
    waits: tuple[str, ...]
    warnings: tuple[str, ...]
    deletes: tuple[Deleted, ...] = ()
    in_force: bool = False
    dropped: tuple[str, ...] = ()
    stayed: dict[str, str] = {}


class HistoryAsked(msgspec.Struct, frozen=True, kw_only=True):
    limit: Annotated[int, msgspec.Meta(ge=1, le=200)] = 50
    after: Annotated[str, msgspec.Meta(pattern=r"^[0-8]?[0-9]{1,18}$")] | None = None


class RevisionLine(msgspec.Struct, frozen=True, kw_only=True):
    """A revision: who made it when (milliseconds since 1970) and why. `paths` are the settings about which it says something
    else than the one before."""

    number: int
    author: str
    name: str
    ms: int
    reason: str
    digest: str
    paths: tuple[str, ...]


class History(msgspec.Struct, frozen=True, kw_only=True):
    """Newest first."""

    revisions: tuple[RevisionLine, ...]
    next: str | None


class RevisionAsked(msgspec.Struct, frozen=True, kw_only=True):
    number: Number


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What a revision says about a setting, as JSON; null: that nobody has written it."""

    path: str
    value: str | None


class RevisionTold(msgspec.Struct, frozen=True, kw_only=True):
    revision: RevisionLine
    settings: tuple[Said, ...]


class CompareAsked(msgspec.Struct, frozen=True, kw_only=True):
    old: Number
    new: Number


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """What one revision says and another does not. `was` and `now` are JSON, `removed` where the setting is taken out; null: it
    is as the file says."""

    old: int
    new: int
    changes: tuple[Changed, ...]


class RollBackAsked(msgspec.Struct, frozen=True, kw_only=True):
    """`number`: the revision whose words are to count again; 0: the file's alone. `delete` as for a change."""

    number: Number
    reason: Reason = ""
    expected: Number | None = None
    dry_run: bool = False
    delete: bool = False


STATUS = Operation(
    name="settings.status",
    told="Show which revision of the settings is in force, and what there is to set.",
    method="GET",
    path="/settings",
    right="see",
    where="any",
    result=StatusTold,
    audited="no",
)
SHOW = Operation(
    name="settings.show",
    told="Show the settings that apply in a channel, room or thread, each with where it comes from.",
    method="GET",
    path="/channels/{channel}/settings",
    right="see",
    where="channel",
    request=PlaceAsked,
    result=PlaceTold,
    audited="no",
)
DESCRIBE = Operation(
    name="settings.describe",
    told="Describe a section as a form: types, bounds, choices, defaults, what is written and what applies.",
    method="GET",
    path="/settings/form",
    right="see",
    where="any",
    request=FormAsked,
    result=Field,
    audited="no",
)
CHANGE = Operation(
    name="settings.change",
    told="Change settings, or show what a change would do (dry_run).",
    method="POST",
    path="/settings/revisions",
    right="configure",
    where="any",
    request=ChangeAsked,
    result=ChangeTold,
)
CHECK = Operation(
    name="settings.check",
    told="Say what is wrong with changes while they are being entered; nothing is changed.",
    method="POST",
    path="/settings/checks",
    right="configure",
    where="any",
    request=CheckAsked,
    result=Checked,
    audited="no",
)
HISTORY = Operation(
    name="settings.history",
    told="List the changes of settings, the newest first.",
    method="GET",
    path="/settings/revisions",
    right="see",
    where="any",
    request=HistoryAsked,
    result=History,
    audited="no",
)
REVISION = Operation(
    name="settings.revision",
    told="Show what a revision says over the settings file.",
    method="GET",
    path="/settings/revisions/{number}",
    right="see",
    where="any",
    request=RevisionAsked,
    result=RevisionTold,
    audited="no",
)
COMPARE = Operation(
    name="settings.compare",
    told="Compare what two revisions say.",
    method="GET",
    path="/settings/comparison",
    right="see",
    where="any",
    request=CompareAsked,
    result=Compared,
    audited="no",
)
ROLL_BACK = Operation(
    name="settings.roll_back",
    told="Let an older revision count again, as a new one.",
    method="POST",
    path="/settings/rollbacks",
    right="configure",
    where="any",
    request=RollBackAsked,
    result=ChangeTold,
)
EXPORT = Operation(
    name="settings.export",
    told="Download file and console's settings as one YAML text, secrets by reference.",
    method="GET",
    path="/settings/export",
    right="configure",
    where="gateway",
    result="application/yaml",
)
OPERATIONS: tuple[Operation, ...] = (
    STATUS,
    SHOW,
    DESCRIBE,
    CHANGE,
    CHECK,
    HISTORY,
    REVISION,
    COMPARE,
    ROLL_BACK,
    EXPORT,
)
