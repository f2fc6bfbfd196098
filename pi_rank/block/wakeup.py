"""The short block of injection mode `wakeup`: that there is memory, how much, and how to treat it."""

from __future__ import annotations

from pi_rank.block.lines import Line
from pi_rank.block.page import Block, Page
from pi_rank.block.sections import MAX_BLOCK_BYTES
from pi_rank.errors import ConfigError


def build_wakeup(*, active: int, contested: int = 0, max_bytes: int = MAX_BLOCK_BYTES) -> Block:
    """The block for a store with `active` records that this turn may see, and `contested` ones beside them.

    :raises ConfigError: if `max_bytes` is negative.
    """
    if max_bytes < 0:
        raise ConfigError(f"max_bytes is {max_bytes}; a block needs 0 or more bytes (PI's default is 14000)")
    facts = [
        "- Injection mode: wakeup",
        f"- Active memory records: {active}",
        f"- Contested memory records: {contested}",
        "- None of them is shown here: search the memory before relying on what it may hold.",
        "- Identity records (L1) are never applied on their own; lasting changes need the user's review.",
    ]
    page = Page(max_bytes)
    page.add("wakeup", "Wake-up Context", [Line("", fact) for fact in facts])
    markdown = page.markdown()
    return Block(markdown=markdown, omitted=page.omitted, bytes=len(markdown.encode()))
