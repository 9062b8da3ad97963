"""The key under which secrets lie in the database: 32 random bytes as base64, or several while one is replaced. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from pydantic import SecretStr

from config.problems import Fault, Path

KEY_BYTES = 32
REMEDY = "make one: head -c 32 /dev/urandom | base64; several stand apart by a comma, the newest first"


def keys_of(secret: SecretStr) -> tuple[bytes, ...]:
    """Return the keys, the one that seals first. Raises ValueError, without the value in it."""
    keys = tuple(_key(part) for part in re.split(r"[,\s]+", secret.get_secret_value().strip()) if part)
    if not keys:
        raise ValueError("is empty")
    return keys


def check_vault_key(path: Path, secret: SecretStr | None) -> Iterator[Fault]:
    """A key that is none must be met at the load, not when the first secret is to be stored."""
    if secret is None:
        return
    try:
        keys_of(secret)
    except ValueError as exc:
        yield path, str(exc), REMEDY


def _key(part: str) -> bytes:
    try:
        key = base64.b64decode(part.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("is not base64") from None
    if len(key) != KEY_BYTES:
        raise ValueError(f"holds {len(key)} bytes, not {KEY_BYTES}")
    return key
