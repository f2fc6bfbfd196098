"""Checks that each request of a conversation has the one before as its prefix, and says where it does not."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from pi_rank.errors import ContextError
from pi_rank.injection.segments import Segment, segments

DECLARABLE = ("compaction", "quarantine", "tool_change", "model_switch")
LOOKBACK_BLOCKS = 20  # how far Anthropic looks back from a breakpoint for an entry


class Request(msgspec.Struct, frozen=True):
    """A request body as it was sent, and why its prefix is allowed to differ, if it is."""

    body: dict[str, Any]
    declared: str = ""


class Break(msgspec.Struct, frozen=True, kw_only=True):
    """A request that does not continue the one before it.

    `request` counts from 1. `path` is the first block that differs, in this request or, where that ends
    first, in the one before. `kept_bytes` of the earlier request were the same, `rewritten_bytes` were not;
    `thinking_invalidated` counts the thinking blocks sent after the difference, whose bound history has
    changed.
    """

    request: int
    path: str
    kept_bytes: int
    rewritten_bytes: int
    thinking_invalidated: int
    declared: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a check found. Ratios are of bytes: 1.0 is a conversation that only ever grew.

    `kept_prefix_ratio` is what each next request kept of the one before. `cached_prefix_ratio` is what a
    provider would have read from its cache, of all that the second and later requests sent: by breakpoints
    and their look-back where the requests set any, else by the longest prefix seen before.
    """

    requests: int
    breaks: tuple[Break, ...]
    kept_prefix_ratio: float
    cached_prefix_ratio: float
    rewritten_bytes: int
    thinking_invalidated: int

    @property
    def undeclared(self) -> tuple[Break, ...]:
        """The breaks that nobody declared."""
        return tuple(item for item in self.breaks if not item.declared)


def check_prefixes(requests: Sequence[dict[str, Any] | Request]) -> Report:
    """Check the requests of one conversation, in the order in which they were sent.

    :raises ContextError: a declared reason is none of `DECLARABLE`.
    """
    given = [item if isinstance(item, Request) else Request(item) for item in requests]
    streams = _streams(given)
    breaks, kept, sent = [], 0, 0
    for number in range(1, len(streams)):
        earlier, later = streams[number - 1], streams[number]
        same, common = _common_prefix(earlier, later)
        size = sum(len(part.data) for part in earlier)
        kept, sent = kept + common, sent + size
        if common < size:
            breaks.append(_break(number + 1, given[number].declared, earlier, later, same, common))
    return Report(
        requests=len(given),
        breaks=tuple(breaks),
        kept_prefix_ratio=kept / sent if sent else 1.0,
        cached_prefix_ratio=_cached_ratio(streams),
        rewritten_bytes=sum(item.rewritten_bytes for item in breaks),
        thinking_invalidated=sum(item.thinking_invalidated for item in breaks),
    )


def _streams(requests: list[Request]) -> list[list[Segment]]:
    """Each request's whole stream; where the server keeps the conversation, earlier messages come first."""
    streams: list[list[Segment]] = []
    before: list[Segment] = []
    for number, request in enumerate(requests, 1):
        if request.declared and request.declared not in DECLARABLE:
            known = ", ".join(DECLARABLE)
            raise ContextError(f"request {number} declares {request.declared!r}: use one of {known}")
        head, tail = segments(request.body)
        if request.body.get("previous_response_id") or request.body.get("conversation"):
            tail = before + tail
        before = tail
        streams.append(head + tail)
    return streams


def _common_prefix(earlier: list[Segment], later: list[Segment]) -> tuple[int, int]:
    """How many whole segments two streams share at the start, and how many bytes."""
    same, common = 0, 0
    for one, other in zip(earlier, later, strict=False):
        if one.data != other.data:
            return same, common + _common_bytes(one.data, other.data)
        same, common = same + 1, common + len(one.data)
    return same, common


def _common_bytes(one: bytes, other: bytes) -> int:
    """Length of the common prefix, by halving."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _break(
    number: int, declared: str, earlier: list[Segment], later: list[Segment], same: int, common: int
) -> Break:
    size = sum(len(part.data) for part in earlier)
    return Break(
        request=number,
        path=later[same].path if same < len(later) else f"{earlier[same].path} (missing)",
        kept_bytes=common,
        rewritten_bytes=size - common,
        thinking_invalidated=sum(part.thinking for part in later[same:]),
        declared=declared,
    )


def _cached_ratio(streams: list[list[Segment]]) -> float:
    cached = total = 0
    entries: set[bytes] = set()
    for number, stream in enumerate(streams):
        marked = any(part.breakpoint for part in stream)
        if number:
            total += sum(len(part.data) for part in stream)
            cached += _from_entries(stream, entries) if marked else _longest(streams[:number], stream)
        entries.update(data for data, part in _prefixes(stream) if part.breakpoint)
    return cached / total if total else 1.0


def _longest(earlier: list[list[Segment]], stream: list[Segment]) -> int:
    return max(_common_prefix(other, stream)[1] for other in earlier)


def _from_entries(stream: list[Segment], entries: set[bytes]) -> int:
    """Bytes up to the best entry that a look-back from one of the request's breakpoints meets."""
    prefixes = [data for data, _ in _prefixes(stream)]
    best = 0
    for at, part in enumerate(stream):
        if part.breakpoint:
            seen = range(at, max(-1, at - LOOKBACK_BLOCKS), -1)
            hit = next((index for index in seen if prefixes[index] in entries), None)
            best = max(best, sum(len(p.data) for p in stream[: hit + 1]) if hit is not None else 0)
    return best


def _prefixes(stream: list[Segment]) -> list[tuple[bytes, Segment]]:
    """For each segment, the digest of the stream up to and including it."""
    digest = hashlib.blake2b(digest_size=16)
    prefixes = []
    for part in stream:
        digest.update(part.data)
        prefixes.append((digest.copy().digest(), part))
    return prefixes
