"""What types alone can't say: settings that contradict each other, name what is not there, or can't be kept safe.

Pure; each check yields the place, the problem and the remedy. They run on load only, so that a stored document, whose secrets
are references, can still be read.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Collection, Iterator
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import SecretStr

from config.channels.base import MoneyLimits, QuotaLimits, RoomSettings
from config.channels.console import ConsoleSettings
from config.channels.slack import SlackSettings
from config.channels.telegram import TelegramSettings
from config.channels.webhook import WebhookSettings
from config.credentials import check_webhook
from config.credentials_admin import check_admin
from config.credentials_slack import check_slack
from config.credentials_telegram import check_telegram
from config.effective import Layer, base_layers, layers, places, resolve
from config.embedders import SERVED
from config.problems import Fault, Path, nearest
from config.settings import AgentSettings, EmbedderSettings, Settings
from config.telemetry import check_probe, check_telemetry
from config.vault_key import check_vault_key

OWN_FIELDS = frozenset({"model", "messages", "stream", "stream_options", "temperature", "n"})
"""Request fields that the agent sets itself; a parameter of that name would silently undo it."""


def check(
    settings: Settings, *, agents: Collection[str], written: Callable[[Path], bool], faulty: Callable[[Path], bool]
) -> Iterator[Fault]:
    """Yield every fault of the settings as a whole.

    `agents` are the names in the file, those with faults of their own included. `written` tells whether a path stands in the
    file; a fault is laid to the most specific value that takes part in it. `faulty` tells of a path whether a problem is
    known already, so that its value is missing in `settings`.
    """
    yield from _server(settings)
    yield from check_admin(settings.admin)
    yield from check_vault_key(("admin", "secret_key"), settings.admin.secret_key)
    for name, agent in settings.agents.items():
        yield from _agent(("agents", name), agent)
        yield from _priced(("agents", name, "quota"), agent.quota, agent, settings)
    yield from _time_zone(settings.usage.time_zone)
    if settings.embedder.kind == "openai":
        yield from _embedder(("embedder",), settings.embedder, faulty)
    if settings.embedder.former is not None and settings.embedder.former.kind == "openai":
        yield from _embedder(("embedder", "former"), settings.embedder.former, faulty)
    yield from _url(("telemetry", "traces_url"), settings.telemetry.traces_url, "http://", "https://")
    yield from check_telemetry(settings.telemetry)
    yield from check_probe(
        settings.probe,
        collected={
            name: isinstance(channel, ConsoleSettings | WebhookSettings) for name, channel in settings.channels.items()
        },
    )
    if not agents:
        yield ("agents",), "names no agent", "write one, or remove `agents` for the built-in one"
    for root, room in _rooms(settings) if agents else ():
        yield from _agent_names(root, room, agents)
    for root, room in _rooms(settings):
        yield from _desk(root, room, settings)
    for place in places(settings):
        yield from _place(layers(settings, place), agents, written)
        yield from _room_priced(layers(settings, place), settings, written)
    yield from _place(base_layers(settings), (), written)
    consoles = [name for name, channel in settings.channels.items() if isinstance(channel, ConsoleSettings)]
    for name in consoles[1:]:
        yield ("channels", name, "kind"), f"there is a console channel already, {consoles[0]}", "keep one of them"
    for name, channel in settings.channels.items():
        if isinstance(channel, WebhookSettings):
            yield from check_webhook(("channels", name), channel, faulty)
        if isinstance(channel, SlackSettings):
            yield from check_slack(("channels", name), channel, faulty)
        if isinstance(channel, TelegramSettings):
            public_url = settings.server.public_url
            yield from check_telegram(("channels", name), channel, public_url=public_url, faulty=faulty)
        if isinstance(channel, ConsoleSettings) and channel.token is not None:
            yield from _not_empty(("channels", name, "token"), channel.token)


def _time_zone(name: str) -> Iterator[Fault]:
    try:
        known = name == "UTC" or bool(ZoneInfo(name))
    except (KeyError, ValueError, OSError):
        known = False
    if not known:
        yield ("usage", "time_zone"), "is no time zone that this machine knows", "write one such as Europe/Berlin"


def _room_priced(found: tuple[Layer, ...], settings: Settings, written: Callable[[Path], bool]) -> Iterator[Fault]:
    room = resolve(found)
    # Whoever may answer here: else the quota would hold only until somebody chose, or fell back to, another one.
    names = dict.fromkeys((room.agent, *room.agents, *([] if room.fallback is None else [room.fallback])))
    answering = [settings.agents[name] for name in names if name in settings.agents]
    for part, limits in (("person", room.quota.person), ("room", room.quota.room), ("channel", room.quota.channel)):
        roots = [(*layer.root, "quota", part) for layer in reversed(found)]
        path = next((root for root in roots if written((*root, "money"))), None)
        if path is not None:
            faults = (fault for agent in answering for fault in _priced(path, limits, agent, settings))
            yield from dict.fromkeys(faults)  # two agents may have one model


def _priced(path: Path, limits: QuotaLimits, agent: AgentSettings, settings: Settings) -> Iterator[Fault]:
    """A quota of money holds nobody back where no price is known."""
    modelled = agent.kind == "openai" or agent.api_key is not None or agent.base_url is not None
    if limits.money != MoneyLimits() and modelled and agent.model not in settings.prices.models:
        problem = f"counts nothing: the price of model {agent.model!r} is not known"
        yield (*path, "money"), problem, "write it under prices.models, or limit tokens"


def _server(settings: Settings) -> Iterator[Fault]:
    for n, network in enumerate(settings.server.trusted_proxies):
        try:
            ipaddress.ip_network(network)
        except ValueError as exc:
            problem = "has bits set outside its mask" if "host bits" in str(exc) else "is no address or network"
            yield ("server", "trusted_proxies", n), problem, "write an address or a network such as 10.0.0.0/8"
    yield from _url(("server", "public_url"), settings.server.public_url, "http://", "https://")
    if not settings.storage.startswith("sqlite:"):
        yield from _url(("storage",), settings.storage, "postgresql://", or_else="sqlite:///PATH")
    elif not settings.storage.startswith("sqlite:///") or not settings.storage.removeprefix("sqlite:///").strip("/"):
        yield ("storage",), "names no file", "write sqlite:///PATH, with four slashes for an absolute path"
    yield from _url(("redis",), settings.redis, "redis://", "rediss://")


def _url(path: Path, url: str | None, *starts: str, or_else: str = "") -> Iterator[Fault]:
    if url is None:
        return
    wanted = " or ".join([*(f"{start}HOST…" for start in starts), *([or_else] if or_else else [])])
    try:
        parts = urlsplit(url)
        good = url.startswith(starts) and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        yield path, "is no address of this kind", f"write {wanted}"


def _agent(path: Path, agent: AgentSettings) -> Iterator[Fault]:
    if agent.output_tokens >= agent.window_tokens:
        problem = f"leaves nothing of the model's window of {agent.window_tokens} tokens for the prompt"
        yield (*path, "output_tokens"), problem, "make it smaller than window_tokens"
    yield from _url((*path, "base_url"), agent.base_url, "http://", "https://")
    for name in sorted(OWN_FIELDS & agent.parameters.keys()):
        yield (*path, "parameters", name), "is set by Clew itself", "remove it; see the agent's own settings"
    if agent.api_key is not None:
        yield from _not_empty((*path, "api_key"), agent.api_key)


def _embedder(path: Path, embedder: EmbedderSettings, faulty: Callable[[Path], bool]) -> Iterator[Fault]:
    model, known = embedder.model, SERVED.get(embedder.model)
    address, key = (*path, "base_url"), (*path, "api_key")
    yield from _url(address, embedder.base_url, "http://", "https://")
    if embedder.api_key is not None:
        yield from _not_empty(key, embedder.api_key)
    elif embedder.base_url is None and not faulty(key) and not faulty(address):
        yield key, "is missing, and OpenAI answers nobody without", "set it, or base_url for another service"
    if embedder.dims is None and known is None and not faulty((*path, "dims")):
        yield (*path, "dims"), f"is not known for {model!r}", "set the number of dimensions of its vectors"
    if embedder.dims is not None and known is not None and not known.adjustable and embedder.dims != known.dims:
        yield (*path, "dims"), f"can't be chosen for {model!r}", f"remove it; its vectors have {known.dims}"
    if embedder.threshold is None and (known is None or known.threshold is None) and not faulty((*path, "threshold")):
        remedy = "set it; python -m tests.bench.calibrate measures the right one"
        yield (*path, "threshold"), f"is not known for {model!r}", remedy


def _not_empty(path: Path, secret: SecretStr) -> Iterator[Fault]:
    if not secret.get_secret_value().strip():
        yield path, "is empty", "write the secret, or remove the key"


def _rooms(settings: Settings) -> Iterator[tuple[Path, RoomSettings]]:
    yield ("defaults",), settings.defaults
    for name, channel in settings.channels.items():
        yield ("channels", name), channel
        for room_id, room in channel.rooms.items():
            yield ("channels", name, "rooms", room_id), room
            for thread_id, thread in room.threads.items():
                yield ("channels", name, "rooms", room_id, "threads", thread_id), thread


def _agent_names(root: Path, room: RoomSettings, agents: Collection[str]) -> Iterator[Fault]:
    """Every agent that a layer names must be there."""
    named: list[tuple[Path, str | None]] = [((*root, "agents", n), name) for n, name in enumerate(room.agents)]
    named += [
        ((*root, field), getattr(room, field)) for field in ("agent", "fallback") if field in room.model_fields_set
    ]
    for path, name in named:
        if name is not None and name not in agents:
            near = nearest(name, agents)
            yield path, "is no configured agent", f"did you mean {near}?" if near else f"use {' or '.join(agents)}"


def _desk(root: Path, room: RoomSettings, settings: Settings) -> Iterator[Fault]:
    """The staff's room must be one to which the gateway can speak by itself."""
    desk = room.takeover.desk
    if desk is None or "takeover" not in room.model_fields_set or "desk" not in room.takeover.model_fields_set:
        return
    path, name = (*root, "takeover", "desk"), desk.partition("/")[0]
    channel = settings.channels.get(name)
    if channel is None:
        near = nearest(name, settings.channels)
        yield path, "is in no configured channel", f"did you mean {near}?" if near else "write CHANNEL/ROOM"
    elif isinstance(channel, WebhookSettings | ConsoleSettings):
        yield path, f"is in channel {name!r}, whose callers ask for what they get", "name a room of a chat platform"


def _summary(room: RoomSettings, at: Callable[..., Path]) -> Iterator[Fault]:
    """A summary is made of turns that leave the window: due before that, it would cover what is in it still (A39)."""
    window, summary = room.memory.window, room.memory.summary
    if not summary.enabled or room.memory.model == "none":
        return  # none is made
    if summary.start_turns <= window.turns:
        problem = f"{summary.start_turns} turns make a summary due that a window of {window.turns} still shows"
        yield (
            at("memory.summary.start_turns", "memory.window.turns"),
            problem,
            f"set memory.summary.start_turns to {window.turns + 1} or more",
        )
    if summary.start_tokens <= window.tokens:
        problem = f"{summary.start_tokens} tokens make a summary due that a window of {window.tokens} still shows"
        yield (
            at("memory.summary.start_tokens", "memory.window.tokens"),
            problem,
            f"set memory.summary.start_tokens to {window.tokens + 1} or more",
        )


def _place(
    found: tuple[Layer, ...], agents: Collection[str] | None, written: Callable[[Path], bool]
) -> Iterator[Fault]:
    """What a place's settings say together, layers below included; `agents` is empty where none need be chosen yet."""
    room = resolve(found)
    window = room.memory.window

    def at(*fields: str) -> Path:
        paths = [(*layer.root, *field.split(".")) for layer in reversed(found) for field in fields]
        return next((path for path in paths if written(path)), (*found[-1].root, *fields[0].split(".")))

    if agents and room.agent not in agents and not written(at("agent")):
        problem = f"no agent is chosen, and none is named {room.agent!r}"
        yield at("agent"), problem, f"set agent here or in defaults to {' or '.join(agents)}"
    if room.fallback is not None and room.fallback == room.agent:
        yield at("fallback", "agent"), "is the agent itself", "name another agent, or remove the fallback"
    if "prefix" in room.trigger and not room.prefix:
        yield at("trigger"), "asks for a prefix, and there is none", 'set prefix, such as ["!bot"]'
    if agents and room.memory.model not in (*agents, "auto", "none"):
        near = nearest(room.memory.model, agents)
        yield at("memory.model"), "is no configured agent", f"did you mean {near}?" if near else "use auto or none"
    yield from _summary(room, at)
    if window.keep_turns > window.turns:
        path = at("memory.window.keep_turns", "memory.window.turns")
        yield (
            path,
            f"{window.keep_turns} kept turns do not fit into a window of {window.turns}",
            "keep fewer, or allow more",
        )
    if window.candidates < window.messages:
        path = at("memory.window.candidates", "memory.window.messages")
        problem = f"{window.candidates} candidates can't fill a window of {window.messages} messages"
        yield path, problem, "read more candidates, or allow fewer messages"
