"""How a secret lies in the database: AES-256-GCM, bound to its name, under the first of the keys. Pure but for the nonce.

A sealed secret begins with its form's number and the digest that tells which key it is under; whoever swaps two rows, or
gives one another name, makes both unreadable.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

FORM = b"\x01"
_ID, _NONCE = 8, 12


class Unsealable(Exception):
    """None of the keys opens it, or it is not what was sealed under this name."""


def seal(name: str, secret: str, keys: Sequence[bytes]) -> bytes:
    """Seal a secret under the first key."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # takes 20 ms, and most gateways keep no secrets

    nonce = os.urandom(_NONCE)
    return FORM + _id(keys[0]) + nonce + AESGCM(keys[0]).encrypt(nonce, secret.encode(), _bound(name))


def unseal(name: str, sealed: bytes, keys: Sequence[bytes]) -> str:
    """Return the secret. Raises `Unsealable`."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    key = next((key for key in keys if sealed.startswith(FORM + _id(key))), None)
    if key is None:
        raise Unsealable(f"secret {name!r} is under a key that is not here")
    head = len(FORM) + _ID
    nonce, body = sealed[head : head + _NONCE], sealed[head + _NONCE :]
    try:
        return AESGCM(key).decrypt(nonce, body, _bound(name)).decode()
    except (InvalidTag, ValueError) as exc:
        raise Unsealable(f"secret {name!r} was changed in the database, or stored under another name") from exc


def under_first(sealed: bytes, keys: Sequence[bytes]) -> bool:
    """Whether it needs no other key than the first."""
    return sealed.startswith(FORM + _id(keys[0]))


def _id(key: bytes) -> bytes:
    return hashlib.sha256(b"clew vault key\0" + key).digest()[:_ID]


def _bound(name: str) -> bytes:
    return b"clew vault\0" + name.encode()
