"""Who a sender is: from platform account to person, and the agent a person has chosen for a conversation.

Both are rows of the store. Persons have a bounded cache before them: asked for at every message, and they change only when
one is erased, or accounts are linked. A choice has none: another instance may have stored a newer one, and it is looked up only
where an admin allows to choose.
"""

from __future__ import annotations

from collections import OrderedDict

from adapters.base import InboundEvent, Sender
from memory.base import Identity, Store
from memory.ids import now_ms
from memory.key import ConversationKey


class People:
    """Remembers `bound` persons."""

    def __init__(self, store: Store, bound: int = 20_000) -> None:
        self._store = store
        self._bound = bound
        self._persons: OrderedDict[Identity, int] = OrderedDict()

    async def person(self, sender: Sender, *, kind: str) -> int | None:
        """Return the sender's person; None when the platform does not vouch for the sender: no personal memory then."""
        if not sender.trusted:
            return None
        identity = identity_of(sender, kind=kind)
        person = self._persons.get(identity)
        if person is None:
            person = await self._store.person(identity, now_ms=now_ms())
            self._persons[identity] = person
            if len(self._persons) > self._bound:
                self._persons.popitem(last=False)
        return person

    def forget(self) -> None:
        """Look every person up again: one was erased, joined or parted, and accounts are another person's."""
        self._persons.clear()

    async def chosen_agent(self, event: InboundEvent) -> str | None:
        """Return the agent the sender has chosen in this conversation; None: none."""
        return await self._store.chosen_agent(_key(event))

    async def choose_agent(self, event: InboundEvent, agent: str | None) -> None:
        """Keep the sender's choice for this conversation."""
        await self._store.choose_agent(_key(event), agent, now_ms=now_ms())


def identity_of(sender: Sender, *, kind: str) -> Identity:
    """Return the account, on channels of this kind."""
    return Identity(kind=kind, tenant=sender.tenant, account=sender.account)


def vouched(sender: Sender) -> bool:
    """Whether the sender is somebody: a person's account that the platform vouches for. An account that hides somebody is
    the same one for every anonymous admin of a group (platform-facts 2.6)."""
    return sender.trusted and not sender.is_bot


def _key(event: InboundEvent) -> ConversationKey:
    """The agent's place in the key plays no part in a choice; it only must not be empty."""
    return ConversationKey(
        user=event.sender.user,
        channel=event.channel,
        room=event.room,
        thread=event.thread,
        chat_type=event.chat_type,
        agent="any",
    )
