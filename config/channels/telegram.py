"""Settings of a Telegram channel: one bot."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from config.channels.base import ChannelSettings, Url


class TelegramSettings(ChannelSettings):
    kind: Literal["telegram"] = Field("telegram", description="The channel's kind; always to be written.")
    first_use_notice: bool = Field(
        True, description="Tell a group once what is kept of its talk, when the bot comes or first answers."
    )
    mode: Literal["polling", "webhook"] = Field(
        "polling", description="How updates come in: we ask Telegram, or Telegram calls server.public_url."
    )
    token: SecretStr = Field(description="The bot's token, from @BotFather.")
    secret_token: SecretStr | None = Field(
        None, description="What Telegram proves itself with, for `mode: webhook`: 1 to 256 of A-Z a-z 0-9 _ -."
    )
    api_url: Url = Field(
        "https://api.telegram.org", repr=False, description="Where the Bot API is; https, or http on loopback."
    )
    proxy: Url | None = Field(
        None, repr=False, description="HTTP proxy for all calls; the environment's is never used by itself."
    )
    stream: bool = Field(True, description="Show the answer while it is made: as a draft in private, else by editing.")
    typing: bool = Field(True, description="Show that the bot is writing while an answer is made.")
    commands: bool = Field(True, description="Keep the bot's menu of commands up to date.")
    link_previews: bool = Field(
        False, description="Let Telegram fetch the links in answers and show what stands there."
    )
    show_every_s: float = Field(3, ge=1, le=60, description="Seconds between two states of a growing answer at least.")
    poll_s: int = Field(
        30,
        ge=1,
        le=50,
        description="Seconds Telegram may hold a request for updates open; without, it is asked all the time.",
    )
    body_bytes: int = Field(1_048_576, ge=1024, le=16_777_216, description="Largest body accepted.")
    body_s: float = Field(10, gt=0, le=60, description="Seconds a body may take to arrive.")
    connect_s: float = Field(5, gt=0, description="Seconds to connect to Telegram, or to wait for a free connection.")
    timeout_s: float = Field(15, gt=0, description="Seconds one call of the Bot API may take, connecting besides.")
    look_s: float = Field(
        600, gt=0, le=86_400, description="Seconds between two looks at the bot's name, privacy mode and webhook."
    )
    reconnect_s: float = Field(30, gt=0, description="Longest wait between two tries to get updates again.")
    heartbeat_s: float = Field(15, gt=0, le=60, description="Seconds between comments on an idle event stream.")
