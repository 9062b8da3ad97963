"""Settings of the admins' sign-in."""

from __future__ import annotations

import pytest

from config.masking import secrets_of
from tests.unit.config.conftest import Load, Refuse

OIDC = """
admin:
  oidc:
    issuer: https://id.example
    client_id: clew
    client_secret: ${SECRET}
    roles:
      admins: [owner]
      客服: [operator@shop, viewer]
"""


def test_by_default_one_signs_in_by_password(load_text: Load) -> None:
    """No provider is asked, and the waits are those of the table."""
    admin = load_text("{}").settings.admin

    assert (True, None, 3600, 43_200) == (admin.enabled, admin.oidc, admin.session_idle_s, admin.session_s)


def test_claims_map_to_grants(load_text: Load) -> None:
    """A value of any script gives several grants; the client's secret is masked, and stands in no document."""
    configuration = load_text(OIDC, {"SECRET": "very-secret-indeed"})
    oidc = configuration.settings.admin.oidc

    assert oidc is not None
    assert ("operator@shop", "viewer") == oidc.roles["客服"]
    assert "very-secret-indeed" in set(secrets_of(configuration.settings))
    assert "very-secret-indeed" not in configuration.document + repr(configuration.settings)


@pytest.mark.parametrize(
    ("said", "instead", "says"),
    [
        (
            "https://id.example",
            "http://id.example",
            "admin.oidc.issuer: 'http://id.example': could be read and changed",
        ),
        ("client_id: clew", "client_id: clew\n    scopes: [profile]", "admin.oidc.scopes: "),
        ("client_id: clew", "client_id: clew\n    algorithms: [none]", "admin.oidc.algorithms[0]: 'none'"),
        ("client_id: clew", "client_id: clew\n    algorithms: [HS256]", "admin.oidc.algorithms[0]: 'HS256'"),
        ("[owner]", "[root]", "admin.oidc.roles.admins[0]: 'root'"),
        ("operator@shop", "'viewer@A B'", "admin.oidc.roles.客服[0]: 'viewer@A B'"),
        ("${SECRET}", "' '", "admin.oidc.client_secret: ***: is empty"),
    ],
)
def test_what_would_let_strangers_in_is_refused(refused: Refuse, said: str, instead: str, says: str) -> None:
    """Before the start, with the place and the remedy."""
    assert says in "\n".join(map(str, refused(OIDC.replace(said, instead), {"SECRET": "x"})))


def test_a_provider_that_lets_nobody_in_is_refused(refused: Refuse) -> None:
    """Roles are said, or there is no point in it."""
    text = "admin: {oidc: {issuer: 'http://127.0.0.1:9', client_id: a, roles: {x: []}}}"

    assert "admin.oidc.roles: " in str(refused(text)[0])


def test_waits_have_to_be_able_to_grow(refused: Refuse) -> None:
    """What is forgotten before the longest wait is over never gets there."""
    assert "admin.sign_in.forget_s" in str(refused("admin: {sign_in: {forget_s: 60}}")[0])
