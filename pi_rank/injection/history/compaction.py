"""What a compaction took away, for those who compact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pi_rank.injection.history.live import live_records


def dropped_records(before: Sequence[Any], after: Sequence[Any], source: str) -> list[str]:
    """Ids of the records that the conversation held before a compaction and no longer holds, in id order.

    They need no handling: the next turn that recalls one finds it absent and writes it again.
    """
    return sorted(live_records(before, source).records.keys() - live_records(after, source).records.keys())
