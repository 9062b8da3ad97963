"""Sign-in at an identity provider, against one that runs here with real keys and checks what a provider checks."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc.jwk import OctKey
from pydantic import SecretStr

from config.admin import OidcSettings
from gateway.admin.oidc import BEGUN_S, MOST_AT_ONCE, Claims, Provider, derived
from gateway.admin.oidc_source import ProviderFault, TurnedAway
from tests.emulators.oidc.provider import CLIENT_ID, CLIENT_SECRET, Issuer, issuer, made_key
from tests.services import free_port, silent_server

BACK = "http://127.0.0.1:8080/admin/sign-in/back"


@pytest.fixture
async def provider() -> AsyncIterator[Issuer]:
    async with issuer() as running:
        yield running


def settings(url: str, **more: Any) -> OidcSettings:
    values = {"issuer": url, "client_id": CLIENT_ID, "client_secret": SecretStr(CLIENT_SECRET), "keys_min_s": 0.001}
    return OidcSettings(**{**values, **more})


def query_of(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


async def signed_in(client: Provider, running: Issuer, *, late_s: float = 0) -> Claims:
    """Go there, sign in, come back."""
    begun = await client.begin(BACK, now_s=time.time())
    return await client.finish(begun.kept, query_of(running.signed_in(begun.url)), BACK, now_s=time.time() + late_s)


@pytest.mark.parametrize("secret", [SecretStr(CLIENT_SECRET), None])
async def test_who_signs_in_there_is_known_here(provider: Issuer, secret: SecretStr | None) -> None:
    """With a client's secret or with PKCE alone: the subject, the name, and what the claim of roles says."""
    claims = await signed_in(Provider(settings(provider.url, client_secret=secret)), provider)

    assert Claims(issuer=provider.url, subject="u-1", name="李雷", roles=("admins",)) == claims


async def test_documents_are_fetched_once(provider: Issuer) -> None:
    """The second sign-in asks for nothing but its token, until they are old."""
    now = 0.0
    client = Provider(settings(provider.url), clock=lambda: now)
    await signed_in(client, provider)
    await signed_in(client, provider)
    assert ["document", "keys", "token", "token"] == provider.asked
    now = 3601
    await signed_in(client, provider)

    assert ["document", "keys", "token"] == provider.asked[4:]


@pytest.mark.parametrize(
    ("claims", "says"),
    [
        ({"nonce": "another sign-in's"}, "nonce"),
        ({"aud": "another-client"}, "aud"),
        ({"aud": ["another-client"]}, "aud"),
        ({"aud": ["clew", "another-client"]}, "azp"),
        ({"azp": "another-client"}, "azp"),
        ({"iss": "https://evil.example"}, "iss"),
        ({"exp": 1}, "Expired"),
        ({"iat": 99_999_999_999}, "iat"),
        ({"nbf": 99_999_999_999}, "Invalid"),
        ({"sub": 7}, "sub"),
        ({"sub": ""}, "sub"),
        ({"exp": "never"}, "exp"),
    ],
)
async def test_a_token_that_is_not_for_this_sign_in_is_refused(
    provider: Issuer, claims: dict[str, Any], says: str
) -> None:
    """Another's nonce, audience, party or issuer, expired, not yet good, without a subject (OpenID Connect Core 3.1.3.7)."""
    provider.claims = claims

    with pytest.raises(ProviderFault, match=says):
        await signed_in(Provider(settings(provider.url)), provider)


@pytest.mark.parametrize("claim", ["nonce", "aud", "iss", "exp", "iat", "sub"])
async def test_a_token_without_an_essential_claim_is_refused(provider: Issuer, claim: str) -> None:
    """What is not said can't be right."""
    provider.without = (claim,)

    with pytest.raises(ProviderFault, match="not accepted"):
        await signed_in(Provider(settings(provider.url)), provider)


async def test_an_unsigned_token_is_refused(provider: Issuer) -> None:
    """`alg: none` is no algorithm, whatever the token says of itself."""
    provider.algorithm = "none"

    with pytest.raises(ProviderFault, match="not accepted"):
        await signed_in(Provider(settings(provider.url)), provider)


async def test_a_token_signed_with_what_everybody_knows_is_refused(provider: Issuer) -> None:
    """HS256 with the public key or the client's secret as its key is not among the allowed algorithms."""
    provider.algorithm = "HS256"
    for known in (repr(provider.key.as_dict(private=False)), CLIENT_SECRET * 2):
        provider.signs_with = OctKey.import_key(known)
        with pytest.raises(ProviderFault, match="not accepted"):
            await signed_in(Provider(settings(provider.url)), provider)


async def test_another_keys_signature_is_refused(provider: Issuer) -> None:
    """Also where it claims the id of a key that is known."""
    provider.signs_with = made_key("k1")

    with pytest.raises(ProviderFault, match="not accepted"):
        await signed_in(Provider(settings(provider.url)), provider)


async def test_an_allowed_algorithm_only(provider: Issuer) -> None:
    """A good signature by an algorithm that the settings do not allow."""
    provider.algorithm = "RS512"
    with pytest.raises(ProviderFault, match="not accepted"):
        await signed_in(Provider(settings(provider.url)), provider)

    assert "u-1" == (await signed_in(Provider(settings(provider.url, algorithms=("RS512",))), provider)).subject


async def test_a_provider_may_change_its_keys(provider: Issuer) -> None:
    """A key that is not known yet is looked for once; not again and again (a forged token must not make us fetch)."""
    now = 0.0
    client = Provider(settings(provider.url, keys_min_s=10), clock=lambda: now)
    await signed_in(client, provider)
    provider.rotate()
    with pytest.raises(ProviderFault, match="not accepted"):
        await signed_in(client, provider)
    assert ["document", "keys", "token", "token"] == provider.asked
    now = 11

    assert "u-1" == (await signed_in(client, provider)).subject
    assert 2 == provider.asked.count("keys")


async def test_a_code_is_good_once(provider: Issuer) -> None:
    """Whoever plays the way back again is refused, with the same cookie and another's alike."""
    client = Provider(settings(provider.url))
    begun = await client.begin(BACK, now_s=time.time())
    query = query_of(provider.signed_in(begun.url))
    await client.finish(begun.kept, query, BACK, now_s=time.time())

    with pytest.raises(TurnedAway, match="invalid_grant"):
        await client.finish(begun.kept, query, BACK, now_s=time.time())


async def test_a_stolen_code_is_of_no_use(provider: Issuer) -> None:
    """Login CSRF and code injection: a way back that this browser did not go is refused, and a code of another's sign-in fails
    by its verifier."""
    client = Provider(settings(provider.url))
    theirs, mine = [await client.begin(BACK, now_s=time.time()) for _ in range(2)]
    stolen = query_of(provider.signed_in(theirs.url))
    for kept in (mine.kept, "", "0.", f"{int(time.time())}.", "\ud800"):
        with pytest.raises(TurnedAway, match="begin again"):
            await client.finish(kept, stolen, BACK, now_s=time.time())
    with pytest.raises(ProviderFault, match="invalid_grant"):
        await client.finish(mine.kept, stolen | {"state": query_of(mine.url)["state"]}, BACK, now_s=time.time())


async def test_a_cookie_that_names_no_secret_opens_nothing(provider: Issuer) -> None:
    """What a page without a cookie could compute is no proof that the browser began here."""
    client = Provider(settings(provider.url))
    for kept in ("", f"{int(time.time())}.", "x.y", f"{'9' * 5_000}.y", "².y", "١٧.y", "-1.y"):
        with pytest.raises(TurnedAway, match="begin again"):
            await client.finish(kept, {"state": derived(kept, "state"), "code": "c"}, BACK, now_s=time.time())


async def test_coming_back_late_is_refused(provider: Issuer) -> None:
    """Ten minutes are enough to sign in."""
    with pytest.raises(ProviderFault, match="too long"):
        await signed_in(Provider(settings(provider.url)), provider, late_s=BEGUN_S + 1)


async def test_who_is_refused_there_is_told(provider: Issuer) -> None:
    """The provider's reason comes through, in a bounded way; an answer of another provider does not (RFC 9207)."""
    client = Provider(settings(provider.url))
    begun = await client.begin(BACK, now_s=time.time())
    state = query_of(begun.url)["state"]
    with pytest.raises(ProviderFault, match="access_denied"):
        await client.finish(begun.kept, {"state": state, "error": "access_denied"}, BACK, now_s=time.time())
    with pytest.raises(ProviderFault, match="another"):
        await client.finish(begun.kept, {"state": state, "iss": "https://other"}, BACK, now_s=time.time())


async def test_a_wrong_client_secret_is_told(provider: Issuer) -> None:
    with pytest.raises(ProviderFault, match="invalid_client") as caught:
        await signed_in(Provider(settings(provider.url, client_secret=SecretStr("wrong-secret"))), provider)
    assert "wrong-secret" not in str(caught.value)


async def test_a_provider_that_is_away_is_told(provider: Issuer) -> None:
    """Nobody listens, or nobody answers in time: signing in fails soon, and works again when it is back."""
    with pytest.raises(ProviderFault, match="can't be reached"):
        await Provider(settings(f"http://127.0.0.1:{free_port()}")).begin(BACK, now_s=time.time())
    with silent_server() as port, pytest.raises(ProviderFault, match="can't be reached"):
        await Provider(settings(f"http://127.0.0.1:{port}", timeout_s=0.1)).begin(BACK, now_s=time.time())
    provider.raw = b"<html>maintenance"
    client = Provider(settings(provider.url))
    with pytest.raises(ProviderFault, match="can't be reached"):
        await client.begin(BACK, now_s=time.time())
    provider.raw = None
    time.sleep(0.002)

    assert "u-1" == (await signed_in(client, provider)).subject


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://another.example"},
        {"token_endpoint": "http://evil.example/token"},
        {"jwks_uri": "file:///etc/passwd"},
        {"authorization_endpoint": 7},
    ],
)
async def test_a_document_that_leads_elsewhere_is_refused(provider: Issuer, document: dict[str, Any]) -> None:
    """Another issuer's document, or addresses that could be read on their way."""
    provider.document = document

    with pytest.raises(ProviderFault, match="can't be reached"):
        await Provider(settings(provider.url)).begin(BACK, now_s=time.time())


@pytest.mark.parametrize("keys", [[], [{"kty": "oct", "k": "c2VjcmV0", "kid": "k1"}], [7], [{"kty": "RSA"}]])
async def test_a_provider_without_a_public_key_is_refused(provider: Issuer, keys: list[Any]) -> None:
    """A symmetric key that everybody can fetch proves nothing."""
    provider.published = keys

    with pytest.raises(ProviderFault):
        await signed_in(Provider(settings(provider.url)), provider)


async def test_a_document_has_a_bound(provider: Issuer) -> None:
    provider.raw = b" " * 2_000_000

    with pytest.raises(ProviderFault):
        await Provider(settings(provider.url)).begin(BACK, now_s=time.time())


@pytest.mark.parametrize("answer", [{"access_token": "a"}, {"id_token": 7}, {"error": "x" * 1000}])
async def test_an_answer_without_an_id_token_is_refused(provider: Issuer, answer: dict[str, Any]) -> None:
    provider.answer = answer

    with pytest.raises(ProviderFault) as caught:
        await signed_in(Provider(settings(provider.url)), provider)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("said", "roles"),
    [("admins", ("admins",)), (["a", 7, "b"], ("a", "b")), (None, ()), ({"admins": True}, ())],
)
async def test_the_claim_of_roles_is_a_text_or_a_list(provider: Issuer, said: Any, roles: tuple[str, ...]) -> None:
    """Anything else gives nothing."""
    provider.claims = {"groups": said, "preferred_username": None}
    claims = await signed_in(Provider(settings(provider.url)), provider)

    assert (roles, "u-1") == (claims.roles, claims.name)


@pytest.mark.parametrize(
    ("verified", "roles"),
    [(True, ("ann@example.com",)), ("true", ("ann@example.com",)), (False, ()), ("false", ()), (None, ())],
)
async def test_an_address_that_nobody_verified_gives_nothing(
    provider: Issuer, verified: object, roles: tuple[str, ...]
) -> None:
    """Where roles go by e-mail addresses: what somebody has typed at the provider makes nobody an owner here."""
    provider.claims = {"email": "ann@example.com", "email_verified": verified}
    claims = await signed_in(Provider(settings(provider.url, roles_claim="email")), provider)

    assert roles == claims.roles


async def test_a_flood_of_ways_back_asks_the_provider_within_a_bound(provider: Issuer) -> None:
    """What a browser brings back anybody can make up: for each the provider is asked, but for so many at a time only."""
    with silent_server() as port:
        provider.document = {"token_endpoint": f"http://127.0.0.1:{port}/token"}
        client = Provider(settings(provider.url, timeout_s=60))
        begun = await client.begin(BACK, now_s=time.time())
        query = query_of(provider.signed_in(begun.url))
        coming = [
            asyncio.create_task(client.finish(begun.kept, query, BACK, now_s=time.time()))
            for _ in range(MOST_AT_ONCE + 7)
        ]
        for first in itertools.islice(asyncio.as_completed(coming), 7):
            with pytest.raises(ProviderFault, match="too many"):
                await first
        assert MOST_AT_ONCE == sum(not one.done() for one in coming)
        for one in coming:
            one.cancel()
        await asyncio.gather(*coming, return_exceptions=True)
    provider.document = {}

    assert "u-1" == (await signed_in(Provider(settings(provider.url)), provider)).subject
