"""What keeps a webhook shut to strangers: its signing secrets and token keys, checked when they are loaded. Pure."""

from __future__ import annotations

import base64
import binascii
import ipaddress
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import urlsplit

from config.channels.webhook import JwtSettings, WebhookSettings
from config.problems import Fault, Path

_MAKE_ONE = 'make one: echo "whsec_$(head -c 32 /dev/urandom | base64)"'


def check_webhook(path: Path, channel: WebhookSettings, faulty: Callable[[Path], bool]) -> Iterator[Fault]:
    """An endpoint that anybody could write to must not start (NousResearch/hermes-agent#7089, openclaw/openclaw#32599)."""
    if not channel.secrets and channel.jwt is None and not faulty((*path, "jwt")):
        yield (*path, "secrets"), "anybody could write to this webhook", "set secrets or jwt"
    for n, secret in enumerate(channel.secrets):
        fault = _signing_secret(secret.get_secret_value())
        if fault is not None:
            yield (*path, "secrets", n), fault, _MAKE_ONE
    if channel.jwt is not None:
        yield from _jwt((*path, "jwt"), channel.jwt)


def _signing_secret(secret: str) -> str | None:
    """Return what is wrong with a Standard Webhooks secret; None: nothing."""
    if not secret.startswith("whsec_"):
        return "does not begin with whsec_"
    try:
        size = len(base64.b64decode(secret.removeprefix("whsec_"), validate=True))
    except (binascii.Error, ValueError):
        return "is not base64 after whsec_"
    return None if 24 <= size <= 64 else f"holds {size} bytes, not 24 to 64"


def _jwt(path: Path, jwt: JwtSettings) -> Iterator[Fault]:
    families = {name[:2] for name in jwt.algorithms}
    if len(families) != 1:
        problem = "mixes families of algorithms" if families else "names no algorithm"
        yield (*path, "algorithms"), problem, "name algorithms of one family: HS…, RS…, ES… or EdDSA"
    elif families == {"HS"}:
        yield from _shared_key(path, jwt)
    else:
        yield from _public_keys(path, jwt)


def _shared_key(path: Path, jwt: JwtSettings) -> Iterator[Fault]:
    if jwt.public_key is not None or jwt.jwks_url is not None:
        field = "public_key" if jwt.public_key is not None else "jwks_url"
        yield (*path, field), "has no use with HS algorithms", "remove it, or name RS, ES or EdDSA algorithms"
    least = max(int(name.removeprefix("HS")) // 8 for name in jwt.algorithms)  # RFC 7518, 3.2: as long as the hash
    if jwt.secret is None:
        yield (*path, "secret"), "is required for HS algorithms", f"set it to {least} random bytes or more"
    elif len(jwt.secret.get_secret_value().encode()) < least:
        yield (*path, "secret"), f"is shorter than {least} bytes", f"use {least} random bytes or more"


def _public_keys(path: Path, jwt: JwtSettings) -> Iterator[Fault]:
    if jwt.secret is not None:
        yield (*path, "secret"), "has no use with these algorithms", "remove it, or name HS algorithms"
    if (jwt.public_key is None) == (jwt.jwks_url is None):
        problem = "is a second source of keys" if jwt.jwks_url is not None else "is not there, nor is public_key"
        yield (*path, "jwks_url"), problem, "set one of public_key and jwks_url"
    if jwt.public_key is not None and not _is_public_key(jwt.public_key, jwt.algorithms):
        problem = f"is no PEM public key for {' or '.join(jwt.algorithms)}"
        yield (*path, "public_key"), problem, "write file:PATH of a file that holds BEGIN PUBLIC KEY"
    if jwt.jwks_url is not None and not safe_source(jwt.jwks_url):
        yield (*path, "jwks_url"), "could be read and changed on its way", "use https, or http on loopback"


def _is_public_key(pem: str, algorithms: Sequence[str]) -> bool:
    from jwt import PyJWTError, get_algorithm_by_name  # only who uses such keys pays for loading cryptography

    if "PRIVATE KEY" in pem:
        return False
    try:
        for name in algorithms:
            get_algorithm_by_name(name).prepare_key(pem)
    except (PyJWTError, ValueError, TypeError):
        return False
    return True


def safe_source(url: str) -> bool:
    """Tell whether what is fetched or sent there is safe on its way: https, or http on loopback."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and _loopback(host)))


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
