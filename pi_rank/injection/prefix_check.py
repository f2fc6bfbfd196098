"""Checks that each request of a conversation has the one before as its prefix, and says where it does not."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from pi_rank.errors import ContextError
from pi_rank.injection.segments import Parsed, Segment, parse

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

    The time is in proportion to what was sent.

    :raises ContextError: a declared reason is none of `DECLARABLE`.
    """
    given = [item if isinstance(item, Request) else Request(item) for item in requests]
    breaks, kept, sent = [], 0, 0
    cache = _Cache()
    earlier: _Stream | None = None
    for number, later in enumerate(_streams(given), 1):
        if earlier is not None:
            common = _common_prefix(earlier, later)
            kept, sent = kept + common, sent + earlier.size
            if common < earlier.size:
                breaks.append(_break(number, given[number - 1].declared, earlier, later, common))
        cache.send(later)
        earlier = later
    return Report(
        requests=len(given),
        breaks=tuple(breaks),
        kept_prefix_ratio=kept / sent if sent else 1.0,
        cached_prefix_ratio=cache.ratio,
        rewritten_bytes=sum(item.rewritten_bytes for item in breaks),
        thinking_invalidated=sum(item.thinking_invalidated for item in breaks),
    )


class _Stream(msgspec.Struct):
    """A request's segments; after each, the bytes so far and a digest of them; how many are as before."""

    segments: list[Segment]
    sizes: list[int]
    digests: list[bytes]
    same: int = 0

    @property
    def size(self) -> int:
        """Bytes in all."""
        return self.sizes[-1] if self.sizes else 0


def _streams(requests: list[Request]) -> Iterator[_Stream]:
    """Each request's whole stream; where the server keeps the conversation, earlier messages come first."""
    kept: list[Segment] = []
    before: Parsed | None = None
    earlier: _Stream | None = None
    for number, request in enumerate(requests, 1):
        if request.declared and request.declared not in DECLARABLE:
            known = ", ".join(DECLARABLE)
            raise ContextError(f"request {number} declares {request.declared!r}: use one of {known}")
        parsed = parse(request.body, before)
        by_server = bool(request.body.get("previous_response_id") or request.body.get("conversation"))
        tail = kept + parsed.tail if by_server else parsed.tail
        kept, before = tail, parsed
        earlier = _stream(parsed.head + tail, earlier)
        yield earlier


def _stream(parts: list[Segment], earlier: _Stream | None) -> _Stream:
    """The stream, what it has in common with the one before taken over."""
    same = 0
    if earlier is not None:
        limit = min(len(parts), len(earlier.segments))
        while same < limit and (
            parts[same] is earlier.segments[same] or parts[same].data == earlier.segments[same].data
        ):
            same += 1
    sizes = earlier.sizes[:same] if earlier is not None else []
    digests = earlier.digests[:same] if earlier is not None else []
    for part in parts[same:]:
        last = digests[-1] if digests else b""
        digests.append(hashlib.blake2b(last + part.data, digest_size=16).digest())
        sizes.append((sizes[-1] if sizes else 0) + len(part.data))
    return _Stream(parts, sizes, digests, same)


def _common_prefix(earlier: _Stream, later: _Stream) -> int:
    """How many bytes two streams share at the start."""
    same = later.same
    common = later.sizes[same - 1] if same else 0
    if same < len(earlier.segments) and same < len(later.segments):
        common += _common_bytes(earlier.segments[same].data, later.segments[same].data)
    return common


def _common_bytes(one: bytes, other: bytes) -> int:
    """Length of the common prefix, by halving."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _break(number: int, declared: str, earlier: _Stream, later: _Stream, common: int) -> Break:
    left = later.segments[later.same :]
    gone = earlier.segments[later.same] if later.same < len(earlier.segments) else None
    in_tools = gone is not None and gone.path.startswith("tools")
    if gone is not None and (not left or (in_tools and not left[0].path.startswith("tools"))):
        path = f"{gone.path} (missing)"
    else:
        path = left[0].path
    return Break(
        request=number,
        path=path,
        kept_bytes=common,
        rewritten_bytes=earlier.size - common,
        thinking_invalidated=sum(part.thinking for part in left),
        declared=declared,
    )


class _Cache:
    """What a provider would have read from its cache: entries at breakpoints, else every prefix seen."""

    def __init__(self) -> None:
        self._entries: set[bytes] = set()
        self._after: dict[bytes, list[bytes]] = {}  # a prefix → the segments that followed it, sorted
        self._requests = self._cached = self._total = 0

    @property
    def ratio(self) -> float:
        """Bytes read from the cache, of all that the second and later requests sent."""
        return self._cached / self._total if self._total else 1.0

    def send(self, stream: _Stream) -> None:
        """Count a request, and keep what it leaves in the cache."""
        marked = [index for index, part in enumerate(stream.segments) if part.breakpoint]
        if self._requests:
            self._total += stream.size
            self._cached += self._from_entries(stream, marked) if marked else self._longest(stream)
        self._requests += 1
        self._entries.update(stream.digests[index] for index in marked)
        for index in range(stream.same, len(stream.segments)):
            followers = self._after.setdefault(stream.digests[index - 1] if index else b"", [])
            at = bisect_left(followers, stream.segments[index].data)
            if at == len(followers) or followers[at] != stream.segments[index].data:
                followers.insert(at, stream.segments[index].data)

    def _from_entries(self, stream: _Stream, marked: list[int]) -> int:
        """Bytes up to the best entry that a look-back from one of the request's breakpoints meets."""
        best = 0
        for at in marked:
            seen = range(at, max(-1, at - LOOKBACK_BLOCKS), -1)
            hit = next((index for index in seen if stream.digests[index] in self._entries), None)
            best = max(best, stream.sizes[hit] if hit is not None else 0)
        return best

    def _longest(self, stream: _Stream) -> int:
        """Bytes of the longest prefix that any request had before."""
        prefix, size = b"", 0
        for index, part in enumerate(stream.segments):
            followers = self._after.get(prefix, [])
            at = bisect_left(followers, part.data) if index >= stream.same else -1
            if at >= 0 and followers[at : at + 1] != [part.data]:  # the most like it stand beside its place
                near = followers[max(0, at - 1) : at + 1]
                return size + max((_common_bytes(part.data, other) for other in near), default=0)
            prefix, size = stream.digests[index], stream.sizes[index]
        return size
