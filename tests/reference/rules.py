"""The order of hard rules, as the block shows them."""

from __future__ import annotations


def hard_rule_key(record):
    """Sort key: the most confident first, then by id."""
    return (-record.confidence, record.id)
