"""What the admins' part may be told: how they sign in, and for how long."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SecretStr

from config.channels.base import Section, Text, Url

GrantText = Annotated[str, Field(pattern=r"^(viewer|operator|admin|owner)(@[a-z0-9-]{1,63})?$")]
"""A role for all of the gateway, or `role@channel` for one."""


class SignInSettings(Section):
    """Waits grow with every wrong password: `wait_s`, then twice that, and so on."""

    tries: int = Field(
        5, ge=1, description="Wrong passwords for an account from one address, or one known browser, before it waits."
    )
    address_tries: int = Field(20, ge=1, description="Wrong passwords from one address before it waits.")
    account_tries: int = Field(
        30, ge=1, description="Wrong passwords for an account from anywhere before it waits; known browsers don't."
    )
    wait_s: float = Field(1, gt=0, description="Seconds of the first wait; doubles each time.")
    wait_max_s: float = Field(900, gt=0, description="Seconds an address or known browser waits at most.")
    account_wait_s: float = Field(
        30, gt=0, description="Seconds an account waits at most for what others try elsewhere."
    )
    forget_s: float = Field(
        3600, gt=0, description="Seconds without a wrong password after which earlier ones count no more."
    )


class OidcSettings(Section):
    """Sign-in by OpenID Connect."""

    issuer: Url = Field(
        repr=False, description="The provider's issuer, as its discovery document says it; https, or http on loopback."
    )
    client_id: Text = Field(description="This gateway's id at the provider.")
    client_secret: SecretStr | None = Field(None, description="Its secret; unset: a public client (PKCE alone).")
    scopes: tuple[Text, ...] = Field(
        ("openid", "profile", "email"), description="What is asked for; `openid` has to be among it."
    )
    name_claim: Text = Field("preferred_username", description="Claim with the name that is shown.")
    roles_claim: Text = Field(
        "groups",
        description="Claim, a text or a list, that says what somebody may do; `email` only where it is told to be verified.",
    )
    roles: dict[Text, tuple[GrantText, ...]] = Field(
        {},
        description="Roles by the claim's values, `owner` or `operator@channel`; nobody without one of them gets in.",
    )
    hold_days: float = Field(
        30, gt=0, le=366, description="Days after a sign-in that its grants still hold for API tokens."
    )
    algorithms: tuple[Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"], ...] = (
        Field(("RS256", "ES256"), min_length=1, description="Algorithms an ID token may be signed with.")
    )
    keys_s: float = Field(
        3600, gt=0, description="Seconds after which the provider's keys and document are fetched again."
    )
    keys_min_s: float = Field(10, gt=0, description="Seconds between two fetches of the keys at least.")
    leeway_s: float = Field(60, ge=0, le=300, description="Clock skew allowed.")
    timeout_s: float = Field(10, gt=0, le=60, description="Seconds one request to the provider may take.")


class AdminSettings(Section):
    enabled: bool = Field(True, description="Serve the console at /admin and the API at /api/v1; read at start only.")
    secret_key: SecretStr | None = Field(
        None,
        description="Key of the secrets in the database, 32 random bytes as base64; several while one is replaced, the newest"
        " first. Unset: none can be stored. CLEW_SECRET_KEY of the environment wins.",
    )
    session_idle_s: float = Field(
        3600, gt=0, description="Seconds without a request after which somebody is signed out."
    )
    session_s: float = Field(43_200, gt=0, description="Seconds after which somebody has to sign in again.")
    sign_in: SignInSettings = SignInSettings()
    oidc: OidcSettings | None = Field(None, description="Sign-in by OpenID Connect; unset: by password only.")
