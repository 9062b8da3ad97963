"""From the settings of an agent and of a place to the numbers a prompt is made by. Pure; a replay under other settings is
another pair of settings."""

from __future__ import annotations

from config.channels.base import RoomSettings
from config.loader import Configuration
from config.settings import AgentSettings
from memory.base import Ledger
from memory.key import decode_part
from memory.policy import Policy


def policy_of(
    name: str, agent: AgentSettings, room: RoomSettings, *, model: str, reports_lookups: bool, summarised: bool
) -> Policy:
    """Return the policy of a turn. `model` is the model's name where one answers, "" otherwise; `name` the agent's;
    `summarised`: there is a model that summarises here."""
    memory = room.memory
    return Policy(
        agent=name,
        model=model,
        tokenizer=agent.tokenizer,
        system=agent.system,
        namespace=agent.profile_namespace,
        reports_lookups=reports_lookups,
        window_tokens=agent.window_tokens,
        output_tokens=agent.output_tokens,
        idle_ms=int(memory.session.idle_s * 1000),
        turns=memory.window.turns,
        keep_turns=memory.window.keep_turns,
        messages=memory.window.messages,
        tokens=memory.window.tokens,
        candidates=memory.window.candidates,
        observed_messages=memory.observed.messages if room.observe else 0,
        observed_tokens=memory.observed.tokens,
        profile_items=memory.profile.items,
        private_in_group=memory.profile.private_in_group,
        fragments=memory.recall.fragments,
        recall_tokens=memory.recall_tokens,
        summarised=summarised,
        down_weight=memory.down_weight,
        fillers=memory.fillers,
    )


def place_of_ledger(ledger: Ledger, configuration: Configuration) -> RoomSettings:
    """Return what `configuration` sets for the place where a turn was; the defaults for a channel that it does not have."""
    channel = decode_part(ledger.frame.channel) if ledger.frame.channel else ""
    if channel not in configuration.settings.channels:
        return configuration.settings.defaults
    room, slash, thread = ledger.frame.conversation.partition("/")
    return configuration.effective(channel, decode_part(room), decode_part(thread) if slash else None)
