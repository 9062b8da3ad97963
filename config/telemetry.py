"""Settings of what watches the gateway itself: traces for a collector, and a message of its own on a timer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import Annotated

from pydantic import Field, SecretStr

from config.channels.base import Name, Section, Text, Url
from config.problems import Fault

_EXPORTER = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
_HEADER = Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$", max_length=128)]


class TelemetrySettings(Section):
    traces_url: Url | None = Field(
        None,
        repr=False,
        description="Where spans are sent (OTLP over HTTP, such as http://localhost:4318/v1/traces); unset: none are made. The"
        " section is read at start only.",
    )
    sample: float = Field(1, ge=0, le=1, description="Share of turns that are traced, each of them whole.")
    headers: dict[_HEADER, SecretStr] = Field({}, description="Headers of each call, such as a key of the service.")
    timeout_s: float = Field(5, gt=0, description="Seconds one call to the collector may take, retries included.")
    service_name: Text = Field("clew", description="The name under which the collector knows this gateway.")


class ProbeSettings(Section):
    every_s: float | None = Field(
        None,
        ge=5,
        description="Seconds between two messages that each instance sends itself, to see that an answer goes out; unset: none.",
    )
    channel: Name | None = Field(None, description="The channel whose whole way they take, its agent included.")
    room: Text | None = Field(
        None, description="Room in which the answer is posted; unset: allowed where replies are collected only."
    )
    thread: Text | None = Field(None, description="Thread of the room.")
    within_s: float = Field(60, gt=0, description="Seconds after which an answer is late.")


def installed(module: str) -> bool:
    """Whether a module can be imported; it is not, but for the packages it lies in."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def check_telemetry(telemetry: TelemetrySettings, *, has: Callable[[str], bool] = installed) -> Iterator[Fault]:
    """Yield what keeps spans from being sent. `has` tells whether a module is installed."""
    path = ("telemetry", "traces_url")
    if telemetry.traces_url is None:
        return
    if not all(map(has, _EXPORTER)):
        problem = "needs the OpenTelemetry packages, which are not installed"
        yield path, problem, "install them with `uv sync --frozen --inexact --extra telemetry`, or remove it"
    for name, value in telemetry.headers.items():
        if not value.get_secret_value().strip():
            yield ("telemetry", "headers", name), "is empty", "write the secret, or remove the key"


def check_probe(probe: ProbeSettings, *, collected: Mapping[str, bool]) -> Iterator[Fault]:
    """Yield what keeps the probe from being made; `collected` tells of each channel whether callers collect its replies."""
    if probe.every_s is None:
        return
    if probe.channel is None:
        yield ("probe", "channel"), "is missing", "name the channel that is to be probed, or remove every_s"
    elif probe.channel not in collected:
        remedy = f"use {' or '.join(collected)}" if collected else "configure it"
        yield ("probe", "channel"), "is no configured channel", remedy
    elif probe.room is None and not collected[probe.channel]:
        remedy = "write the id of a room of your own, as people there see the answers"
        yield ("probe", "room"), f"is missing, and channel {probe.channel!r} posts its answers", remedy
