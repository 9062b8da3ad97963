"""Who calls a webhook, who speaks, and where they may: identity comes from the credentials, never from the body. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from adapters.base import Sender
from adapters.problems import Problem

MAX_NAME_CHARS = 200
MAX_SUBJECT_BYTES = 255  # OpenID Connect Core 1.0, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Whom the credentials prove.

    `subject` None: a signer, who vouches for the senders of its endpoint's tenant. `groups`: the group conversations the
    subject is a member of; None: the credentials don't say. `delivery`: the signed `webhook-id`.
    """

    subject: str | None = None
    name: str = ""
    groups: frozenset[str] | None = None
    delivery: str | None = None


def sender_of(principal: Principal, *, claimed: str | None, name: str | None, tenant: str) -> Sender:
    """Return who speaks.

    With a token its subject, under the name the token gives; `claimed`, the body's sender, must be absent or the same (B33,
    else 403). With a signature the sender the body names, for whom the signer vouches inside `tenant` (422 if nobody).
    """
    if principal.subject is None:
        if claimed is None:
            detail = "sender.id: a signed call names its sender; there is no other source for it"
            raise Problem(422, "bad_field", detail, field="sender.id")
        return Sender(user=claimed, tenant=tenant, account=claimed, name=name or "")
    if claimed not in (None, principal.subject):
        detail = "sender.id: it is not the token's subject; leave it out or send the same"
        raise Problem(403, "not_the_sender", detail, field="sender.id")
    return Sender(user=principal.subject, tenant=tenant, account=principal.subject, name=principal.name)


def require_membership(
    principal: Principal,
    *,
    user: str,
    chat_type: Literal["private", "group"],
    conversation: str,
    members: Sequence[str] | None,
) -> None:
    """Raise a 403 `Problem` unless the caller may name this group conversation.

    The token's claim decides if there is one; else `members`, the settings' `allow.members`; else only a signer may, who
    vouches for its own tenant. A private conversation needs no permission: its key holds the user, so it is nobody else's.
    """
    if chat_type == "private":
        return
    if principal.groups is not None:
        allowed = conversation in principal.groups
    elif members is not None:
        allowed = user in members
    else:
        allowed = principal.subject is None
    if not allowed:
        detail = "conversation: the caller is not known to be a member; see the token's groups claim, or allow.members"
        raise Problem(403, "not_a_member", detail, field="conversation")
