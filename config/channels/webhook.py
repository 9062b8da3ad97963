"""Settings of a webhook channel: any program that can POST JSON."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SecretStr

from config.channels.base import ChannelSettings, FromFile, Section, Text, Trigger, Url


class JwtSettings(Section):
    algorithms: tuple[Literal["HS256", "HS384", "HS512", "RS256", "ES256", "EdDSA"], ...] = Field(
        description="The only algorithms accepted; of one family."
    )
    issuer: Text = Field(description="Required `iss`.")
    audience: Text = Field(description="Required `aud`.")
    secret: SecretStr | None = Field(
        None, description="Key of the HS algorithms; at least 32, 48 or 64 bytes for HS256, HS384, HS512."
    )
    public_key: Annotated[str, FromFile()] | None = Field(
        None, description="PEM public key of the other algorithms; `file:PATH` reads it."
    )
    jwks_url: Url | None = Field(
        None, repr=False, description="Where keys are fetched, by `kid`; https, or http on loopback."
    )
    jwks_min_interval_s: float = Field(60, gt=0, description="Seconds between two fetches of the keys at least.")
    jwks_max_age_s: float = Field(
        3600, gt=0, description="Seconds after which keys are fetched again, so that a withdrawn one stops working."
    )
    timeout_s: float = Field(5, gt=0, description="Seconds a fetch of the keys may take.")
    leeway_s: float = Field(60, ge=0, le=60, description="Clock skew allowed.")
    groups_claim: Text = Field(
        "groups", description="Claim that lists the group conversations the subject is a member of."
    )
    name_claim: Text = Field("name", description="Claim with the subject's display name.")


class WebhookSettings(ChannelSettings):
    kind: Literal["webhook"] = Field("webhook", description="The channel's kind; always to be written.")
    trigger: tuple[Trigger, ...] = Field(
        ("always",), description="What makes the bot answer in a group; an empty list: nothing."
    )
    secrets: tuple[SecretStr, ...] = Field(
        (),
        description="Standard Webhooks secrets (`whsec_` and base64 of 24 to 64 bytes); several while one is replaced.",
    )
    jwt: JwtSettings | None = Field(None, description="Bearer tokens instead of signatures.")
    tenant: Text | None = Field(
        None, description="Tenant of the senders this endpoint vouches for; the channel's name if unset."
    )
    sync_s: float = Field(20, gt=0, le=60, description="Seconds a `sync` call waits before it answers 202.")
    body_bytes: int = Field(262_144, ge=1024, le=16_777_216, description="Largest body accepted.")
    body_s: float = Field(15, gt=0, le=300, description="Seconds a body may take to arrive.")
    heartbeat_s: float = Field(15, gt=0, le=60, description="Seconds between comments on an idle event stream.")
