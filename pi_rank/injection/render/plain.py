"""Messages sent as they are stored but for our own keys: most of a history, spared the general way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pi_rank._core import history
from pi_rank.injection.history.dialects import PART_TYPES, STRANDS_KEYS, Dialect


def plain_messages(messages: Sequence[Any], dialect: Dialect) -> list[dict[str, Any] | None]:
    """Each message as it is sent in its own dialect, by role and parts; None where more is to be done.

    More is to be done for an empty or unknown part, tool results behind something else, calls outside the
    content, operator text or text for this call only, and all that is no user's or assistant's message.
    """
    return history.plain_messages(messages, PART_TYPES.get(dialect, STRANDS_KEYS), dialect == "strands")


def plain_parts(raw: dict[str, Any], dialect: Dialect) -> list[dict[str, Any]] | None:
    """The parts of one such message, whatever its role."""
    return history.plain_parts(raw, PART_TYPES.get(dialect, STRANDS_KEYS), dialect == "strands")
