"""What an operator may set of the example channel: in a real one `config/channels/KIND.py`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from config.channels.base import ChannelSettings, Url


class PigeonSettings(ChannelSettings):
    kind: Literal["pigeon"] = Field("pigeon", description="The channel's kind; always to be written.")
    token: SecretStr = Field(description="The bot's token; the platform proves itself with it, too.")
    api_url: Url = Field(
        "https://api.pigeon.example", repr=False, description="Where the platform is; tests say where."
    )
    timeout_s: float = Field(15, gt=0, description="Seconds one call may take.")
    body_bytes: int = Field(262_144, ge=1024, description="Largest body accepted.")
    body_s: float = Field(10, gt=0, description="Seconds a body may take to arrive.")
    heartbeat_s: float = Field(15, gt=0, description="Seconds between comments on an idle event stream.")
