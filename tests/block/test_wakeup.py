from __future__ import annotations

import pytest

from pi_rank.block.wakeup import build_wakeup
from pi_rank.errors import ConfigError


def test_says_how_much_there_is_and_shows_none_of_it():
    assert build_wakeup(active=12, contested=1).markdown == (
        "# Persistent Intelligence Context\n\n## Wake-up Context\n"
        "- Injection mode: wakeup\n"
        "- Active memory records: 12\n"
        "- Contested memory records: 1\n"
        "- None of them is shown here: search the memory before relying on what it may hold.\n"
        "- Identity records (L1) are never applied on their own; lasting changes need the user's review.\n"
    )


@pytest.mark.parametrize("max_bytes", [0, 30, 90, 120, 200, 300])
def test_budget(max_bytes):
    block = build_wakeup(active=12, max_bytes=max_bytes)
    assert len(block.markdown.encode()) == block.bytes <= max_bytes


def test_negative_budget():
    with pytest.raises(ConfigError, match="max_bytes is -5"):
        build_wakeup(active=1, max_bytes=-5)
