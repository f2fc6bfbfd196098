"""A request body as the stream that a provider caches: tools, system, then every block of every message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

CONVERSATION_KEYS = ("messages", "input", "contents")  # of Anthropic, Bedrock and Chat; Responses; Gemini
# Not content: a provider's cache and its check of thinking blocks look through these.
IGNORED_KEYS = frozenset({"cache_control", "cachePoint"})
THINKING_TYPES = frozenset({"thinking", "redacted_thinking", "reasoning"})
_BODY_KEYS = frozenset({"content", "parts", "tool_calls", "type"})
_RECORD, _UNIT = b"\x1e", b"\x1f"  # JSON escapes both, so no content can imitate the border of a block


class Segment(msgspec.Struct):
    """One block: where it stands, its bytes, whether it is thinking, whether a breakpoint follows it."""

    path: str
    data: bytes
    thinking: bool = False
    breakpoint: bool = False


class Parsed(msgspec.Struct):
    """A request as segments: head (tools and system), then its messages, each up to its place in `ends`."""

    head: list[Segment]
    tail: list[Segment]
    encoded: list[bytes]
    ends: list[int]
    deferred: dict[str, Any]


def segments(body: dict[str, Any]) -> tuple[list[Segment], list[Segment]]:
    """A request's head (tools and system) and its messages, each as segments in provider order.

    Model, sampling and routing are no content and left out. A text block's bytes have no end mark, so that
    text appended to the last one keeps it as a prefix. A deferred tool is no part of the head: it comes in
    where it is first referred to.
    """
    parsed = parse(body)
    return parsed.head, parsed.tail


def parse(body: dict[str, Any], before: Parsed | None = None) -> Parsed:
    """The request's segments; those of messages that it has in common with the one before are taken over."""
    head = _Stream()
    tools = _tools(body)
    listed = tools if isinstance(tools, list) else []
    deferred = {tool["name"]: tool for tool in listed if _is_deferred(tool)}
    for index, tool in enumerate(listed):
        if not _is_deferred(tool):
            head.add(f"tools[{index}]", "tool", tool)
    for key in ("system", "instructions"):
        head.add_all(key, body.get(key), "system")
    head.add_all("systemInstruction", _parts(body.get("systemInstruction")), "system")
    key = next((name for name in CONVERSATION_KEYS if name in body), "input")
    given = body.get(key)
    messages = given if isinstance(given, list) else []
    encoded = [_encoded(message) for message in messages]
    same = _common(before.encoded, encoded) if before is not None and before.deferred == deferred else 0
    ends = before.ends[:same] if before is not None else []
    shared = ends[-1] if ends else 0
    tail = _Stream(deferred)
    if isinstance(given, str):
        tail.add(key, "user", given)
    if shared and before is not None:
        tail.take_over(before.tail[:shared], messages[:same])
    for index in range(same, len(messages)):
        _add_message(tail, f"{key}[{index}]", messages[index])
        ends.append(len(tail.segments))
    return Parsed(head.segments, tail.segments, encoded, ends, deferred)


def _common(one: list[bytes], other: list[bytes]) -> int:
    """How many messages two lists have in common at the start."""
    pairs = enumerate(zip(one, other, strict=False))
    differ = (at for at, (first, second) in pairs if not first or first != second)
    return next(differ, min(len(one), len(other)))


def _encoded(message: Any) -> bytes:  # noqa: ANN401
    """A message's JSON, by which it is known again; b"" for one that nobody can know again."""
    try:
        return msgspec.json.encode(message, enc_hook=repr)
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError):
        return b""


class _Stream:
    """Segments under construction. A deferred tool comes into them where it is first referred to."""

    def __init__(self, deferred: dict[str, Any] | None = None) -> None:
        self.segments: list[Segment] = []
        self._deferred = dict(deferred or {})

    def add_all(self, path: str, content: Any, header: str) -> None:  # noqa: ANN401 - any JSON value
        if isinstance(content, list):
            for index, part in enumerate(content):
                self.add(f"{path}[{index}]", header, part)
        elif content is not None:
            self.add(path, header, content)

    def add(self, path: str, header: str, part: Any) -> None:  # noqa: ANN401
        marked = isinstance(part, dict) and not IGNORED_KEYS.isdisjoint(part)
        bare = {key: value for key, value in part.items() if key not in IGNORED_KEYS} if marked else part
        if marked and not bare:  # Bedrock's cache point is a block of its own
            self._mark_last()
            return
        self.segments.append(
            Segment(
                path,
                _RECORD + header.encode("utf-8", "surrogatepass") + _UNIT + _payload(bare),
                _is_thinking(part),
                marked,
            )
        )

        for name in _references(part) if self._deferred else ():
            tool = self._deferred.pop(name, None)
            if tool is not None:
                self.add(f"{path} ({name})", "tool", {k: v for k, v in tool.items() if k != "defer_loading"})

    def take_over(self, earlier: list[Segment], messages: list[Any]) -> None:
        """Begin with the segments of messages that were parsed before."""
        self.segments = earlier
        for name in _references(messages) if self._deferred else ():
            self._deferred.pop(name, None)

    def _mark_last(self) -> None:
        if self.segments:
            self.segments[-1].breakpoint = True


def _add_message(stream: _Stream, path: str, message: Any) -> None:  # noqa: ANN401
    if not isinstance(message, dict) or "role" not in message:
        stream.add(path, "item", message)
        return
    rest = {key: value for key, value in message.items() if key not in _BODY_KEYS}
    header = _dumps(rest)
    stream.add_all(f"{path}.content", message.get("content"), header)
    stream.add_all(f"{path}.parts", message.get("parts"), header)
    stream.add_all(f"{path}.tool_calls", message.get("tool_calls"), header)


def _tools(body: dict[str, Any]) -> Any:  # noqa: ANN401
    config = body.get("toolConfig")
    return config.get("tools") if isinstance(config, dict) else body.get("tools")


def _is_deferred(tool: Any) -> bool:  # noqa: ANN401
    """Whether a tool is no part of the prefix until it is referred to."""
    return isinstance(tool, dict) and tool.get("defer_loading") is True and isinstance(tool.get("name"), str)


def _references(part: Any) -> Iterator[str]:  # noqa: ANN401
    """Names of the tools that a part refers to: a change of tools, or what a search for tools found."""
    if isinstance(part, list):
        for item in part:
            yield from _references(item)
    elif isinstance(part, dict):
        if part.get("type") == "tool_reference":
            yield from (name for key in ("tool_name", "name") if isinstance(name := part.get(key), str))
        for key in ("tool", "content", "tool_references"):
            yield from _references(part.get(key))


def _parts(content: Any) -> Any:  # noqa: ANN401
    """The parts of a Gemini content, which is an object; anything else as it is."""
    return content.get("parts") if isinstance(content, dict) else content


def _payload(part: Any) -> bytes:  # noqa: ANN401
    """Text blocks of all shapes, and plain strings, have one form; any other block is its JSON as sent."""
    text = part if isinstance(part, str) else _only_text(part)
    if text is None:
        return b"J" + _dumps(part).encode("utf-8", "surrogatepass")
    return b"T" + json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")


def _only_text(part: Any) -> str | None:  # noqa: ANN401
    if isinstance(part, dict) and part.keys() <= {"type", "text"} and isinstance(part.get("text"), str):
        text: str = part["text"]
        return text
    return None


def _is_thinking(part: Any) -> bool:  # noqa: ANN401
    if not isinstance(part, dict):
        return False
    kind = part.get("type")
    named = isinstance(kind, str) and kind in THINKING_TYPES
    return named or "reasoningContent" in part or part.get("thought") is True


def _dumps(value: Any) -> str:  # noqa: ANN401
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr)
