"""Records and policy: what is accepted, and what is not."""

from __future__ import annotations

import pytest

from pi_rank.errors import ConfigError
from pi_rank.recall.types import MemoryHit, MemoryPolicy, MemoryRecallResult


def test_policy_defaults():
    policy = MemoryPolicy()
    assert (policy.timeout_seconds, policy.top_k, policy.max_chars) == (2.0, 3, 4096)


@pytest.mark.parametrize(
    "fields",
    [
        {"timeout_seconds": 0},
        {"timeout_seconds": 30.001},
        {"timeout_seconds": float("nan")},
        {"timeout_seconds": float("inf")},
        {"timeout_seconds": True},
        {"timeout_seconds": "2"},
        {"top_k": 0},
        {"top_k": 21},
        {"top_k": True},
        {"top_k": 2.0},
        {"top_k": "3"},
        {"max_chars": 511},
        {"max_chars": 16_385},
        {"max_chars": True},
    ],
)
def test_policy_refuses(fields):
    with pytest.raises(ConfigError, match=next(iter(fields))):
        MemoryPolicy(**fields)


def test_policy_accepts_the_limits():
    assert MemoryPolicy(30, 20, 16_384).timeout_seconds == 30
    assert MemoryPolicy(0.001, 1, 512).top_k == 1


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("validated", "validated"),
        ("refuted", "refuted"),
        ("boundary", "boundary"),
        ("VALIDATED", "boundary"),
        ("", "boundary"),
        (None, "boundary"),
        (True, "boundary"),
    ],
)
def test_presentations(given, kept):
    assert MemoryHit("s", "k", None, "x", given).presentation == kept


def test_abstained_is_no_hits():
    with pytest.raises(ConfigError):
        MemoryRecallResult("q", (), False, "s")
    with pytest.raises(ConfigError):
        MemoryRecallResult("q", (MemoryHit("s", "k", None, "x"),), True, "s")
