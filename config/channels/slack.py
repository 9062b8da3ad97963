"""Settings of a Slack channel: one app, installed in one workspace."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from config.channels.base import ChannelSettings, Text, Url


class SlackSettings(ChannelSettings):
    kind: Literal["slack"] = Field("slack", description="The channel's kind; always to be written.")
    first_use_notice: bool = Field(
        True, description="Tell a group once what is kept of its talk, when the bot comes or first answers."
    )
    mode: Literal["http", "socket"] = Field(
        "http", description="How events come in: Slack calls our public URL, or we hold a socket open to Slack."
    )
    bot_token: SecretStr = Field(description="Bot token (`xoxb-…`), from the app's OAuth & Permissions page.")
    app_token: SecretStr | None = Field(
        None, description="App-level token (`xapp-…`) with connections:write; for `mode: socket`."
    )
    signing_secrets: tuple[SecretStr, ...] = Field(
        (), description="Signing secrets, for `mode: http`; several while one is replaced."
    )
    api_url: Url = Field(
        "https://slack.com/api/", repr=False, description="Where the Web API is; https, or http on loopback."
    )
    proxy: Url | None = Field(
        None, repr=False, description="HTTP proxy for all calls; the environment's is never used by itself."
    )
    reply_in_thread: bool = Field(
        True, description="A mention in the open channel begins a thread, whose follow-ups share its memory."
    )
    stream: bool = Field(True, description="Show the answer while it is made, by editing one message.")
    status: bool = Field(True, description="Show a status in the thread while an answer is made.")
    status_text: Text = Field(
        "is thinking…", max_length=50, description="The status; Slack puts the app's name before."
    )
    show_every_s: float = Field(3, ge=1, le=60, description="Seconds between two states of a growing answer at least.")
    slash_prefix: str = Field(
        "",
        pattern=r"^[a-z0-9_-]*$",
        max_length=20,
        description="Put before slash commands' names (`clew-` makes /clew-new), where another app has /new.",
    )
    body_bytes: int = Field(1_048_576, ge=1024, le=16_777_216, description="Largest body accepted.")
    body_s: float = Field(3, gt=0, le=60, description="Seconds a body may take to arrive; Slack itself waits 3.")
    connect_s: float = Field(5, gt=0, description="Seconds to connect to Slack.")
    timeout_s: float = Field(
        15, gt=0, description="Seconds one call of the Web API may take, and a new socket until Slack greets it."
    )
    ping_s: float = Field(
        10, gt=0, le=60, description="Seconds of silence after which the socket is tried; half of it to answer."
    )
    reconnect_s: float = Field(30, gt=0, description="Longest wait between two tries to open the socket again.")
    steady_s: float = Field(
        10, gt=0, description="Seconds a socket must have lived to be replaced at once; else the wait grows."
    )
    names_s: float = Field(3600, gt=0, description="Seconds a person's or channel's name is kept.")
    names_wait_s: float = Field(
        1.5, gt=0, description="Seconds a message waits for the names in it; less than `queue.names_s`."
    )
    heartbeat_s: float = Field(15, gt=0, le=60, description="Seconds between comments on an idle event stream.")
