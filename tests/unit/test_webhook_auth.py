"""Whom a webhook's credentials prove: signatures, bearer tokens, the issuer's keys."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Sequence
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from standardwebhooks.webhooks import Webhook

from adapters.errors import AdapterFault
from adapters.problems import Problem
from adapters.webhook.auth import KeySet, parse_jwks, verify_signature, verify_token
from adapters.webhook.identity import Principal, require_membership, sender_of
from config.channels.webhook import JwtSettings
from tests.serving import JWT_SECRET, JWT_SETTINGS, NEXT_SECRET, SECRET, signed, token

RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
PEM = (
    RSA_KEY.public_key()
    .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    .decode()
)
HMAC = JwtSettings.model_validate(JWT_SETTINGS)
BY_PEM = JwtSettings(algorithms=("RS256",), issuer="https://id.example", audience="clew", public_key=PEM)
BY_JWKS = JwtSettings(
    algorithms=("RS256", "ES256"), issuer="https://id.example", audience="clew", jwks_url="https://id.example/keys"
)


def jwk(kid: str, key: Any = RSA_KEY, **members: Any) -> dict[str, Any]:
    algorithm = RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else ECAlgorithm
    return algorithm.to_jwk(key.public_key(), as_dict=True) | {"kid": kid} | members


def jwks(*keys: dict[str, Any]) -> bytes:
    return json.dumps({"keys": keys}).encode()


# Signatures


def check(call: dict[str, Any], *, secrets: Sequence[str] = (SECRET,), **headers: list[str]) -> Principal:
    given_headers = {name: [value] for name, value in call["headers"].items()}
    given_headers |= {name.replace("_", "-"): values for name, values in headers.items()}
    return verify_signature(
        [Webhook(secret) for secret in secrets], call["data"], headers=lambda name: given_headers.get(name, [])
    )


def test_a_signed_body_proves_the_signer_who_vouches_for_its_senders() -> None:
    """The signature names no person; it gives the delivery id that stays over retries."""
    assert Principal(delivery="msg_1") == check(signed(b'{"text":"\xe4\xbd\xa0\xe5\xa5\xbd"}'))


def test_any_of_several_secrets_will_do_while_one_is_replaced() -> None:
    """Rotation: the old and the new secret are both accepted, and so is a call signed with both."""
    both = (
        signed(b"{}")["headers"]["webhook-signature"]
        + " "
        + signed(b"{}", secret=NEXT_SECRET)["headers"]["webhook-signature"]
    )

    assert "msg_1" == check(signed(b"{}", secret=NEXT_SECRET), secrets=[SECRET, NEXT_SECRET]).delivery
    assert "msg_1" == check(signed(b"{}"), secrets=[SECRET, NEXT_SECRET]).delivery
    assert "msg_1" == check(signed(b"{}"), webhook_signature=[both]).delivery


@pytest.mark.parametrize("age_s", [400, -400, 10**12])
def test_a_signature_from_another_time_is_refused(age_s: float) -> None:
    """Five minutes either way: a recorded call can't be played again later."""
    call = signed(b"{}", at_s=max(0, time.time() - age_s))

    with pytest.raises(Problem) as caught:
        check(call)

    assert 401 == caught.value.status


@pytest.mark.parametrize(
    "headers",
    [
        {"webhook_id": []},
        {"webhook_id": [""]},
        {"webhook_id": ["msg_2"]},
        {"webhook_id": ["msg_1", "msg_1"]},
        {"webhook_id": ["\udce4"]},
        {"webhook_timestamp": []},
        {"webhook_timestamp": ["soon"]},
        {"webhook_timestamp": ["nan"]},
        {"webhook_timestamp": ["1e9"]},
        {"webhook_timestamp": ["9" * 400]},
        {"webhook_timestamp": ["١٧٠٠٠٠٠٠٠٠"]},
        {"webhook_signature": []},
        {"webhook_signature": [""]},
        {"webhook_signature": ["v1"]},
        {"webhook_signature": ["v1,"]},
        {"webhook_signature": ["v1,AAAA"]},
        {"webhook_signature": ["v1,=,="]},
        {"webhook_signature": ["v1,ä"]},
        {"webhook_signature": ["v1,\udcff"]},
        {"webhook_signature": ["v1a,AAAA v2,AAAA"]},
        {"webhook_signature": ["nonsense v1,AAAA"]},
    ],
)
def test_every_malformed_header_is_a_401(headers: dict[str, list[str]]) -> None:
    """The library answers these with five kinds of error; an attacker sees one (platform-facts 3.1)."""
    with pytest.raises(Problem) as caught:
        check(signed(b"{}"), **headers)

    assert 401 == caught.value.status
    assert "Signature" == caught.value.headers["WWW-Authenticate"]


@given(st.text(max_size=80), st.text(max_size=20), st.text(max_size=30), st.binary(max_size=50))
def test_no_headers_and_no_bytes_whatever_pass_or_crash(signature: str, at: str, delivery: str, raw: bytes) -> None:
    """Without the secret there is no way in (LangBot S1, openclaw/openclaw#32599)."""
    headers = {"webhook-signature": [signature], "webhook-timestamp": [at], "webhook-id": [delivery]}

    with pytest.raises(Problem) as caught:
        verify_signature([Webhook(SECRET)], raw, headers=lambda name: headers[name])

    assert 401 == caught.value.status


def test_a_changed_body_is_refused() -> None:
    """The signature is over the very bytes."""
    call = signed(b'{"a": 1}')

    with pytest.raises(Problem):
        check(call | {"data": b'{"a": 2}'})


# Bearer tokens


async def test_a_token_proves_its_subject_name_and_memberships() -> None:
    """B33: the user comes from the authenticated token."""
    good = token(sub="用户-1", name="小艾", groups=["room-7", 8, "团队"])

    principal = await verify_token(good, settings=HMAC, keys=None)

    assert Principal(subject="用户-1", name="小艾", groups=frozenset({"room-7", "团队"})) == principal


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({}, None),
        ({"groups": []}, frozenset()),
        ({"groups": "room-7"}, frozenset()),
        ({"groups": {"room-7": 1}}, frozenset()),
    ],
)
async def test_a_claim_that_is_no_list_is_membership_of_nothing(claims: dict[str, Any], expected: object) -> None:
    """Only a missing claim leaves the question open."""
    assert expected == (await verify_token(token(**claims), settings=HMAC, keys=None)).groups


async def test_a_name_that_no_store_can_keep_is_left_out() -> None:
    """A display name is a courtesy; it never stops a message."""
    assert "" == (await verify_token(token(name="a\x00"), settings=HMAC, keys=None)).name
    assert "" == (await verify_token(token(name=7), settings=HMAC, keys=None)).name
    assert "👨‍👩‍👧" == (await verify_token(token(name="👨‍👩‍👧"), settings=HMAC, keys=None)).name


@pytest.mark.parametrize(
    "credential",
    [
        token(exp=time.time() - 120),
        token(exp=None),
        token(exp="tomorrow"),
        token(iss="https://evil.example"),
        token(iss=None),
        token(aud="another"),
        token(aud=None),
        token(sub=None),
        token(sub=""),
        token(sub="a\nb"),
        token(sub="x" * 256),
        token(sub="\ud800"),
        token(nbf=time.time() + 36_000),
        token(iat=time.time() + 36_000),
        token("another secret of thirty-two bytes or more"),
        token(JWT_SECRET * 2, algorithm="HS512"),
        token(RSA_KEY, algorithm="RS256"),
        jwt.encode({"sub": "alice", "iss": "https://id.example", "aud": "clew", "exp": 9e9}, None, algorithm="none"),
        "",
        "a.b.c",
        "..",
        "ä.ö.ü",
        token()[:-3],
        token() + ".x",
    ],
)
async def test_every_token_that_is_not_wholly_right_is_a_401(credential: str) -> None:
    """Expired, foreign, unsigned, of another algorithm, malformed: one answer."""
    with pytest.raises(Problem) as caught:
        await verify_token(credential, settings=HMAC, keys=None)

    assert 401 == caught.value.status
    assert "Bearer" == caught.value.headers["WWW-Authenticate"]


async def test_a_public_key_does_not_serve_as_an_hmac_secret() -> None:
    """Algorithm confusion: HS256 keyed with our PEM is refused, since the algorithms are pinned."""
    header, body = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in ({"alg": "HS256"}, {"sub": "x"})
    )
    import hashlib
    import hmac

    forged = b".".join(
        [header, body, base64.urlsafe_b64encode(hmac.new(PEM.encode(), header + b"." + body, hashlib.sha256).digest())]
    )

    with pytest.raises(Problem):
        await verify_token(forged.decode(), settings=BY_PEM, keys=None)
    assert "alice" == (await verify_token(token(RSA_KEY, algorithm="RS256"), settings=BY_PEM, keys=None)).subject


# The issuer's keys


class Issuer:
    """Serves a JWKS document, counts, and can be down."""

    def __init__(self, document: bytes) -> None:
        self.document: bytes | None = document
        self.fetches = 0

    async def fetch(self) -> bytes:
        self.fetches += 1
        if self.document is None:
            raise AdapterFault("down")
        return self.document


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def key_set(document: bytes) -> tuple[KeySet, Issuer, Clock]:
    issuer, clock = Issuer(document), Clock()
    return KeySet(issuer.fetch, settings=BY_JWKS, clock=clock), issuer, clock


async def test_keys_are_found_by_kid_and_fetched_once() -> None:
    """RSA and EC keys side by side; a token is checked with the key it names."""
    keys, issuer, _ = key_set(jwks(jwk("one"), jwk("two", EC_KEY)))

    for credential in (token(RSA_KEY, algorithm="RS256", kid="one"), token(EC_KEY, algorithm="ES256", kid="two")):
        assert "alice" == (await verify_token(credential, settings=BY_JWKS, keys=keys)).subject
    assert 1 == issuer.fetches


@pytest.mark.parametrize("kid", [None, "three", "two"])
async def test_a_token_must_name_the_key_that_signed_it(kid: str | None) -> None:
    """No kid, an unknown one, another key's: 401."""
    keys, _, _ = key_set(jwks(jwk("one"), jwk("two", EC_KEY)))

    with pytest.raises(Problem) as caught:
        await verify_token(token(RSA_KEY, algorithm="RS256", kid=kid), settings=BY_JWKS, keys=keys)

    assert 401 == caught.value.status


async def test_a_new_key_is_fetched_when_it_shows_but_not_more_often_than_the_floor() -> None:
    """Unknown kids can't make us hammer the issuer."""
    keys, issuer, clock = key_set(jwks(jwk("one")))
    await keys.key("one")
    issuer.document = jwks(jwk("two"))

    for number in range(100):
        assert await keys.key(f"made up {number}") is None
    assert 1 == issuer.fetches

    clock.now += 60
    assert await keys.key("two") is not None
    assert 2 == issuer.fetches


async def test_a_withdrawn_key_stops_working_when_the_keys_are_old() -> None:
    """Keys are fetched again after jwks_max_age_s."""
    keys, issuer, clock = key_set(jwks(jwk("one")))
    await keys.key("one")
    issuer.document = jwks(jwk("two"))

    clock.now += 3600

    assert await keys.key("one") is None


async def test_while_the_issuer_is_down_known_keys_stay_good_and_others_are_a_503() -> None:
    """An outage of the issuer is not the caller's fault, and not an open door."""
    keys, issuer, clock = key_set(jwks(jwk("one")))
    await keys.key("one")
    issuer.document = None
    clock.now += 3600

    assert await keys.key("one") is not None
    with pytest.raises(Problem) as caught:
        await keys.key("two")
    assert (503, "60") == (caught.value.status, caught.value.headers["Retry-After"])


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"[]",
        b"\xff",
        b'{"keys": 1}',
        b'{"keys": []}',
        jwks({"kid": "a", "kty": "oct", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA"}),
        jwks(jwk("a", use="enc")),
        jwks({"kid": 7} | {k: v for k, v in jwk("a").items() if k != "kid"}),
    ],
)
def test_a_document_without_a_public_signature_key_is_refused(document: bytes) -> None:
    """Not JSON, no keys, symmetric, for encryption, without a kid."""
    with pytest.raises(AdapterFault):
        parse_jwks(document)


# Who speaks, and where


def test_a_signer_vouches_for_whom_the_body_names_inside_its_tenant() -> None:
    """DESIGN 2: a signed webhook's sender is trusted inside the endpoint's own tenant only."""
    sender = sender_of(Principal(), claimed="alice", name="Alice", tenant="acme")

    assert ("alice", "acme", "alice", "Alice", True) == (
        sender.user,
        sender.tenant,
        sender.account,
        sender.name,
        sender.trusted,
    )


def test_a_signed_call_without_a_sender_is_a_422() -> None:
    """An event without a trustworthy sender gets no memory; here it gets no turn."""
    with pytest.raises(Problem) as caught:
        sender_of(Principal(), claimed=None, name=None, tenant="acme")

    assert (422, "sender.id") == (caught.value.status, caught.value.field)


@pytest.mark.parametrize("claimed", [None, "alice"])
def test_a_token_speaks_for_its_subject_under_the_tokens_name(claimed: str | None) -> None:
    """B33: never from the request body; nor the name, which others will see."""
    sender = sender_of(Principal(subject="alice", name="Alice"), claimed=claimed, name="The Boss", tenant="acme")

    assert ("alice", "Alice") == (sender.user, sender.name)


@pytest.mark.parametrize("claimed", ["bob", "Alice", "alice ", "ａlice"])
def test_a_body_that_contradicts_the_token_is_a_403(claimed: str) -> None:
    """No folding, no trimming: another id is another person."""
    with pytest.raises(Problem) as caught:
        sender_of(Principal(subject="alice"), claimed=claimed, name=None, tenant="acme")

    assert (403, "sender.id") == (caught.value.status, caught.value.field)


SIGNER, BARE = Principal(), Principal(subject="alice")
IN, OUT = (
    Principal(subject="alice", groups=frozenset({"room"})),
    Principal(subject="alice", groups=frozenset({"other"})),
)


@pytest.mark.parametrize(
    ("principal", "members", "allowed"),
    [
        (SIGNER, None, True),
        (SIGNER, ["alice"], True),
        (SIGNER, ["bob"], False),
        (SIGNER, [], False),
        (BARE, None, False),
        (BARE, ["alice"], True),
        (BARE, ["bob"], False),
        (IN, None, True),
        (IN, [], True),
        (OUT, None, False),
        (OUT, ["alice"], False),
    ],
)
def test_a_group_is_for_its_members(principal: Principal, members: list[str] | None, allowed: bool) -> None:
    """The token's claim, else the list, else only the signer of the tenant (DESIGN 2)."""
    status = 200
    try:
        require_membership(principal, user="alice", chat_type="group", conversation="room", members=members)
    except Problem as problem:
        status = problem.status

    assert (200 if allowed else 403) == status


def test_a_private_conversation_needs_no_permission() -> None:
    """Its key holds the user, so naming another's private room opens one's own."""
    require_membership(OUT, user="alice", chat_type="private", conversation="bob's room", members=[])
