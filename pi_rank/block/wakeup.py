"""The short block of injection mode `wakeup`: that there is memory, how much, and how to treat it."""

from __future__ import annotations

from pi_rank.block.lines import Line
from pi_rank.block.page import Block, fill_page
from pi_rank.block.sections import MAX_BLOCK_BYTES


def build_wakeup(*, active: int, contested: int = 0, max_bytes: int = MAX_BLOCK_BYTES) -> Block:
    """The block for a store with `active` records that this turn may see, and `contested` ones beside them.

    :raises ConfigError: if `max_bytes` is negative.
    """
    facts = [
        "- Injection mode: wakeup",
        f"- Active memory records: {active}",
        f"- Contested memory records: {contested}",
        "- None of them is shown here: search the memory before relying on what it may hold.",
        "- Identity records (L1) are never applied on their own; lasting changes need the user's review.",
    ]
    lines = [Line("", fact) for fact in facts]
    markdown, page, _ = fill_page(lambda page: page.add("wakeup", "Wake-up Context", lines), max_bytes)
    return Block(markdown=markdown, omitted=page.omitted, bytes=len(markdown.encode()))
