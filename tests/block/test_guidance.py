from __future__ import annotations

from functools import partial

import pytest

from pi_rank.block.guidance import build_policy, build_wakeup
from pi_rank.errors import ConfigError


def test_says_how_much_there_is_and_shows_none_of_it():
    assert build_wakeup(active=12, contested=1).markdown == (
        "# Persistent Intelligence Context\n\n## Wake-up Context\n"
        "- Injection mode: wakeup\n"
        "- Active memory records: 12\n"
        "- Contested memory records: 1\n"
        "- None of them is shown here: search the memory before relying on what it may hold.\n"
        "- To search it: memory_search and session_search in pi, the recall tool of `pi-rank mcp`, or "
        "`pi-rank search WORDS` in a shell.\n"
        "- Identity records (L1) are never applied on their own; lasting changes need the user's review.\n"
    )


def test_the_policy_says_its_mode_and_how_to_search():
    lines = build_policy().markdown.splitlines()
    assert lines[:4] == [
        "# Persistent Intelligence Context",
        "",
        "## Memory Policy",
        "- Injection mode: policy_only",
    ]
    assert [way for way in ("memory_search", "pi-rank mcp", "pi-rank search") if way in lines[5]] == [
        "memory_search",
        "pi-rank mcp",
        "pi-rank search",
    ]
    assert len(lines) == 7


@pytest.mark.parametrize("build", [partial(build_wakeup, active=12), build_policy])
@pytest.mark.parametrize("max_bytes", [0, 30, 90, 120, 200, 300])
def test_budget(build, max_bytes):
    block = build(max_bytes=max_bytes)
    assert len(block.markdown.encode()) == block.bytes <= max_bytes


def test_negative_budget():
    with pytest.raises(ConfigError, match="max_bytes is -5"):
        build_wakeup(active=1, max_bytes=-5)
