"""Settings of a webhook channel: any program that can POST JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from config.channels.base import ChannelSettings, Section, Trigger


class JwtSettings(Section):
    algorithms: tuple[Literal["HS256", "HS384", "HS512", "RS256", "ES256", "EdDSA"], ...] = Field(
        description="The only algorithms accepted; of one family."
    )
    issuer: str = Field(description="Required `iss`.")
    audience: str = Field(description="Required `aud`.")
    secret: SecretStr | None = Field(None, description="Key of the HS algorithms, at least 32 bytes.")
    public_key: str | None = Field(None, description="PEM public key of the others.")
    jwks_url: str | None = Field(None, description="Where keys are fetched, by `kid`; https, or http on loopback.")
    jwks_min_interval_s: float = Field(60, gt=0, description="Seconds between two fetches of the keys at least.")
    jwks_max_age_s: float = Field(
        3600, gt=0, description="Seconds after which keys are fetched again, so that a withdrawn one stops working."
    )
    timeout_s: float = Field(5, gt=0, description="Seconds a fetch of the keys may take.")
    leeway_s: float = Field(60, ge=0, le=60, description="Clock skew allowed.")
    groups_claim: str = Field(
        "groups", description="Claim that lists the group conversations the subject is a member of."
    )
    name_claim: str = Field("name", description="Claim with the subject's display name.")


class WebhookSettings(ChannelSettings):
    kind: Literal["webhook"] = "webhook"
    trigger: tuple[Trigger, ...] = Field(("always",), description="What makes the bot answer in a group.")
    secrets: tuple[SecretStr, ...] = Field(
        (), description="Standard Webhooks secrets (`whsec_…`); several while one is being replaced."
    )
    jwt: JwtSettings | None = Field(None, description="Bearer tokens instead of signatures.")
    tenant: str | None = Field(
        None, description="Tenant of the senders this endpoint vouches for; the channel's name if unset."
    )
    sync_s: float = Field(20, gt=0, le=60, description="Seconds a `sync` call waits before it answers 202.")
    body_bytes: int = Field(262_144, ge=1024, le=16_777_216, description="Largest body accepted.")
    body_s: float = Field(15, gt=0, le=300, description="Seconds a body may take to arrive.")
    heartbeat_s: float = Field(15, gt=0, le=60, description="Seconds between comments on an idle event stream.")
