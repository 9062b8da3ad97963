"""What every channel, room and thread may set. One model serves as full settings (all defaults) and as one layer (only what
is written counts: pydantic's `model_fields_set`)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer

from config.masking import masked


class FromFile:
    """Marks a text that `file:PATH` may give, as it may every secret."""


class MayHoldPassword:
    """Marks a URL: shown, dumped and stored without its password only."""


Name = Annotated[str, Field(pattern=r"^[a-z0-9-]+$", max_length=63)]
Text = Annotated[str, Field(min_length=1)]
Url = Annotated[str, MayHoldPassword(), PlainSerializer(masked, return_type=str, when_used="json")]
Trigger = Literal["mention", "reply", "command", "prefix", "thread", "always"]


class Section(BaseModel):
    """Base of all settings: unknown keys are errors, values are immutable and finite."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class WindowSettings(Section):
    turns: int = Field(8, ge=1, le=100, description="Turns of the window, the current one included.")
    messages: int = Field(20, ge=2, le=1000, description="Cap on messages in the window, whatever the tokens.")
    tokens: int = Field(6000, ge=100, description="Token budget of the window; less where the model's window is small.")
    keep_turns: int = Field(2, ge=1, le=100, description="Newest turns that the token budget never drops.")
    candidates: int = Field(200, ge=2, le=5000, description="Stored messages read at most before filtering.")


class SessionSettings(Section):
    idle_s: float = Field(7200, gt=0, description="Seconds of silence after which a new session begins.")


class ObservedSettings(Section):
    messages: int = Field(20, ge=1, le=200, description="Observed group messages kept and shown at most.")
    tokens: int = Field(1000, ge=0, description="Token budget of the observed section.")


class ProfileSettings(Section):
    items: int = Field(3, ge=0, le=50, description="Profile items in a prompt at most; pinned ones come besides.")
    private_in_group: bool = Field(False, description="Allow what a person said in private into this group's prompt.")


class SummarySettings(Section):
    enabled: bool = Field(True, description="Summarise talk that leaves the window; needs a model (memory.model).")
    start_turns: int = Field(
        9, ge=2, le=1000, description="Turns without a summary that make one due; more than memory.window.turns."
    )
    start_tokens: int = Field(
        8000, ge=200, description="Tokens of turns without a summary that make one due; more than memory.window.tokens."
    )
    max_chars: int = Field(400, ge=200, le=4000, description="Characters of a summary at most.")


class FactsSettings(Section):
    enabled: bool = Field(True, description="Remember what people say: facts of the session, and of the person.")
    ttl_s: float = Field(7200, gt=0, description="Seconds a fact of the session stays after the last turn.")
    emails: bool = Field(False, description="Allow e-mail addresses to be remembered.")


class RecallSettings(Section):
    fragments: int = Field(3, ge=0, le=20, description="Earlier messages brought back at most; 0: none.")


class MemorySettings(Section):
    model: Name = Field(
        "auto",
        description="Agent whose model reads turns and writes summaries; `none`: rules alone, no summaries; `auto`: the agent"
        " named `small` if there is one, else the one that answers if a model does.",
    )
    window: WindowSettings = WindowSettings()
    session: SessionSettings = SessionSettings()
    observed: ObservedSettings = ObservedSettings()
    profile: ProfileSettings = ProfileSettings()
    summary: SummarySettings = SummarySettings()
    facts: FactsSettings = FactsSettings()
    recall: RecallSettings = RecallSettings()
    recall_tokens: int = Field(2000, ge=0, description="Tokens reserved for profile, summary and facts together.")
    down_weight: Literal["auto", "all", "none"] = Field(
        "auto", description="Past replies marked as of their time: those with a look-up, all, or none."
    )
    fillers: tuple[Text, ...] = Field((), description="More words that count as small talk, beside the built-in ones.")


class AllowSettings(Section):
    people: tuple[Text, ...] | None = Field(
        None, description="Accounts (as in the key) that may talk here; unset: all; an empty list: nobody."
    )
    members: tuple[Text, ...] | None = Field(
        None,
        description="Accounts that may name this group conversation where the caller's token has no membership claim.",
    )


class LimitSettings(Section):
    message_chars: int = Field(32_000, ge=1, le=1_000_000, description="Characters one message may have.")
    per_minute: int = Field(20, ge=1, le=100_000, description="Messages a person may send in a minute.")


class TakeoverSettings(Section):
    people_may_ask: bool = Field(True, description="Let people ask for a human with /human.")
    words: tuple[Text, ...] = Field(
        (), description="A message that holds one of these asks for a human; case does not matter."
    )
    agent_may_ask: bool = Field(False, description="Let the agent ask for a human (agents with tools: kind openai).")
    after_failures: int = Field(
        0, ge=0, le=100, description="Answers in a row that fail before a human is asked for; 0: never."
    )
    after_complaints: int = Field(
        0, ge=0, le=100, description="Complaints in a row before a human is asked for; 0: never."
    )
    while_waiting: Literal["bot", "silent"] = Field(
        "bot", description="Who answers until a human comes: the bot, or nobody."
    )
    wait_s: float = Field(1800, gt=0, description="Seconds that a request waits for a human.")
    timeout_s: float = Field(
        1800, gt=0, description="Seconds after a human's last act until the bot takes the conversation back."
    )
    desk: Annotated[str, Field(pattern=r"^[a-z0-9-]+/.+$")] | None = Field(
        None,
        description="`CHANNEL/ROOM` where staff are told of requests, and may answer them; unset: in the console only.",
    )
    desk_shows: Literal["ids", "names", "words"] = Field(
        "words", description="What the staff's room is told: that there is something, also who, also what was said."
    )


MOST = 1_000_000_000_000
"""More than anybody uses up; in millionths, too, databases can count it."""


class CountLimits(Section):
    """So many in each of these times; unset: any number."""

    minute: int | None = Field(None, ge=1, le=MOST, description="At most so many in a minute.")
    day: int | None = Field(None, ge=1, le=MOST, description="At most so many in a day of `usage.time_zone`.")
    month: int | None = Field(None, ge=1, le=MOST, description="At most so many in a month.")


class MoneyLimits(Section):
    """So much in each of these times, in `prices.currency`; unset: any amount."""

    minute: float | None = Field(None, gt=0, le=MOST, description="At most so much in a minute.")
    day: float | None = Field(None, gt=0, le=MOST, description="At most so much in a day.")
    month: float | None = Field(None, gt=0, le=MOST, description="At most so much in a month.")


class QuotaLimits(Section):
    """What somebody or something may use up; nobody is answered beyond it until the time is over."""

    messages: CountLimits = Field(CountLimits(), description="Messages to be answered; commands don't count.")
    tokens: CountLimits = Field(CountLimits(), description="Tokens of models, in and out, memory's too.")
    money: MoneyLimits = Field(MoneyLimits(), description="What models cost, where their price is known.")


class QuotaSettings(Section):
    person: QuotaLimits = Field(QuotaLimits(), description="Of each person who writes here, all they use anywhere.")
    room: QuotaLimits = Field(QuotaLimits(), description="Of each group's room, its threads included.")
    channel: QuotaLimits = Field(QuotaLimits(), description="Of the channel as a whole.")
    soft: float = Field(0.8, gt=0, le=1, description="Share of a quota from which on admins are warned; 1: never.")
    tell: bool = Field(False, description="Tell people, once, that they have used up that share of their own quota.")


class RoomSettings(Section):
    """Everything that is layered: defaults, then channel, room, thread; the most specific one that says a value wins."""

    agent: Name = Field("default", description="The agent that answers.")
    agents: tuple[Name, ...] = Field((), description="Agents a person may choose with /agent; none: no choice.")
    fallback: Name | None = Field(None, description="The agent that answers while the first one is down.")
    agent_change: Literal["fresh", "carry", "alias"] = Field(
        "fresh",
        description="When the agent changes: start afresh, carry the last window over, or continue the old scope.",
    )
    scope: Literal["conversation", "room", "speaker"] = Field(
        "conversation",
        description="Who shares a group's short-term memory: this conversation, all threads of the room, nobody.",
    )
    busy: Literal["collect", "queue", "interrupt"] = Field(
        "collect", description="What a message does that comes while the turn before it runs."
    )
    collect_max: int = Field(10, ge=1, le=100, description="Messages answered together at most.")
    trigger: tuple[Trigger, ...] = Field(
        ("mention", "reply"), description="What makes the bot answer in a group; an empty list: nothing."
    )
    prefix: tuple[Text, ...] = Field(
        (), description="Beginnings of a message that address the bot (trigger: prefix); case does not matter."
    )
    observe: bool = Field(False, description="Keep other group talk as background for the next answer.")
    first_use_notice: bool = Field(
        False,
        description="Tell a group once what is kept of its talk, when the bot comes or first answers; where replies are sent.",
    )
    bots: Literal["ignore", "answer"] = Field("ignore", description="What becomes of other bots' messages.")
    bot_depth: int = Field(
        3,
        ge=1,
        le=100,
        description="Bots' messages answered in a row, in a room or thread, without a person in between.",
    )
    language: Literal["auto", "en", "zh"] = Field("auto", description="Language of notices and commands' answers.")
    allow: AllowSettings = AllowSettings()
    limits: LimitSettings = LimitSettings()
    quota: QuotaSettings = QuotaSettings()
    takeover: TakeoverSettings = TakeoverSettings()
    memory: MemorySettings = MemorySettings()


class ThreadSettings(RoomSettings):
    """One thread of a room."""


class Room(RoomSettings):
    """One room of a channel."""

    threads: dict[Text, ThreadSettings] = Field(
        {}, description="Settings of single threads, by the platform's thread id."
    )


class ChannelSettings(RoomSettings):
    """What all channel kinds share."""

    kind: str = Field(description="The channel's kind.")
    rooms: dict[Text, Room] = Field({}, description="Settings of single rooms, by the platform's room id.")
