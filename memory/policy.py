"""The numbers and flags that decide what a prompt holds: one flat value, so that a replay under other settings is another
`Policy`. The gateway fills it from the settings of the agent and of the room; the defaults are DESIGN 10's.
"""

from __future__ import annotations

from typing import Literal

import msgspec

DownWeight = Literal["auto", "all", "none"]
TokenizerKind = Literal["auto", "o200k", "estimate"]


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """How much of what goes into a prompt. Everything is in the unit its name says; tokens by the model's tokenizer."""

    agent: str = "default"
    model: str = ""  # the model's name as the service knows it; "" where no model answers
    tokenizer: TokenizerKind = "auto"
    system: str = ""  # role and rules, as the admin wrote them
    namespace: str = "shared"  # the agent's profile namespace
    reports_lookups: bool = False  # of the agent: True means a reply without a look-up time made no look-up
    window_tokens: int = 32_768  # the model's window, prompt and answer together
    output_tokens: int = 2_000  # reserved for the answer
    idle_ms: int = 7_200_000  # silence that ends a session
    turns: int = 8  # turns of the window, the current one included
    keep_turns: int = 2  # newest turns that the token budget never drops, the current one included
    messages: int = 20  # stored messages in the window at most
    tokens: int = 6_000  # budget of the window
    candidates: int = 200  # stored messages read at most before filtering
    observed_messages: int = 0  # background messages shown at most; 0: the room does not observe
    observed_tokens: int = 1_000
    profile_items: int = 3
    private_in_group: bool = False
    fragments: int = 3  # earlier messages brought back at most, their neighbours apart
    recall_tokens: int = 2_000  # for profile, recalled messages, summary and facts together
    summarised: bool = (
        False  # talk that leaves the window gets into a summary: until it has, the window reaches back to it
    )
    down_weight: DownWeight = "auto"
    fillers: tuple[str, ...] = ()
