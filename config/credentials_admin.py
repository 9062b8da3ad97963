"""What keeps the admins' part shut to strangers: the identity provider and the waits after wrong passwords. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from config.admin import AdminSettings, OidcSettings
from config.credentials import safe_source
from config.problems import Fault


def check_admin(admin: AdminSettings) -> Iterator[Fault]:
    """Yield what would let in whom nobody means, or nobody at all."""
    if admin.sign_in.forget_s <= admin.sign_in.wait_max_s:
        problem = f"is over before the longest wait ({admin.sign_in.wait_max_s:g}), so that waits never grow"
        yield ("admin", "sign_in", "forget_s"), problem, "make it longer than wait_max_s"
    if admin.oidc is not None:
        yield from _oidc(admin.oidc)


def _oidc(oidc: OidcSettings) -> Iterator[Fault]:
    path = ("admin", "oidc")
    if not safe_source(oidc.issuer):
        yield (*path, "issuer"), "could be read and changed on its way", "use https, or http on loopback"
    if "openid" not in oidc.scopes:
        yield (*path, "scopes"), "has no `openid`, so that no ID token comes", "add openid"
    if not any(oidc.roles.values()):
        yield (
            (*path, "roles"),
            "lets nobody in",
            "map a value of roles_claim to a role, for example admins: [owner]",
        )
    if oidc.client_secret is not None and not oidc.client_secret.get_secret_value().strip():
        yield (*path, "client_secret"), "is empty", "set it, or remove it for a public client"
