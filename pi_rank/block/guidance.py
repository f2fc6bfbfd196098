"""The short blocks of the injection modes that show no record: how there is memory, and how to get at it."""

from __future__ import annotations

from collections.abc import Sequence

from pi_rank.block.lines import Line
from pi_rank.block.page import Block, fill_page
from pi_rank.block.sections import MAX_BLOCK_BYTES

_SEARCH = (
    "- To search it: memory_search and session_search in pi, the recall tool of `pi-rank mcp`, or "
    "`pi-rank search WORDS` in a shell."
)
_IDENTITY = "- Identity records (L1) are never applied on their own; lasting changes need the user's review."


def build_policy(*, max_bytes: int = MAX_BLOCK_BYTES) -> Block:
    """The block of mode `policy_only`: the same on every turn, whatever is remembered.

    :raises ConfigError: if `max_bytes` is negative.
    """
    facts = (
        "- Injection mode: policy_only",
        "- There is memory, and none of it is shown here: search it before relying on what it may hold.",
        _SEARCH,
        _IDENTITY,
    )
    return _block("policy", "Memory Policy", facts, max_bytes)


def build_wakeup(*, active: int, contested: int = 0, max_bytes: int = MAX_BLOCK_BYTES) -> Block:
    """The block of mode `wakeup`, of a store with `active` and `contested` records that this turn may see.

    :raises ConfigError: if `max_bytes` is negative.
    """
    facts = (
        "- Injection mode: wakeup",
        f"- Active memory records: {active}",
        f"- Contested memory records: {contested}",
        "- None of them is shown here: search the memory before relying on what it may hold.",
        _SEARCH,
        _IDENTITY,
    )
    return _block("wakeup", "Wake-up Context", facts, max_bytes)


def _block(name: str, heading: str, facts: Sequence[str], max_bytes: int) -> Block:
    lines = [Line("", fact) for fact in facts]
    markdown, page, _ = fill_page(lambda page: page.add(name, heading, lines), max_bytes)
    return Block(markdown=markdown, omitted=page.omitted, bytes=len(markdown.encode()))
