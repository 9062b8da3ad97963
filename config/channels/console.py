"""Settings of the chat page that comes with the gateway."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from config.channels.base import ChannelSettings, Trigger


class ConsoleSettings(ChannelSettings):
    kind: Literal["console"] = Field("console", description="The channel's kind; always to be written.")
    trigger: tuple[Trigger, ...] = Field(
        ("always",), description="What makes the bot answer in a group; an empty list: nothing."
    )
    token: SecretStr | None = Field(
        None, description="Asked of everybody who opens the page; unset: this machine only."
    )
    body_bytes: int = Field(262_144, ge=1024, le=16_777_216, description="Largest body accepted.")
    body_s: float = Field(15, gt=0, le=300, description="Seconds a body may take to arrive.")
    heartbeat_s: float = Field(15, gt=0, le=60, description="Seconds between comments on an idle event stream.")
