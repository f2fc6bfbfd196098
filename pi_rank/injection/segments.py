"""A request body as the stream that a provider caches: tools, system, then every block of every message."""

from __future__ import annotations

import json
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


def segments(body: dict[str, Any]) -> tuple[list[Segment], list[Segment]]:
    """A request's head (tools and system) and its messages, each as segments in provider order.

    Model, sampling and routing are no content and left out. A text block's bytes have no end mark, so that
    text appended to the last one keeps it as a prefix.
    """
    head = _Stream()
    head.add_all("tools", _tools(body), "tool")
    for key in ("system", "instructions"):
        head.add_all(key, body.get(key), "system")
    head.add_all("systemInstruction", _parts(body.get("systemInstruction")), "system")
    tail = _Stream()
    key = next((name for name in CONVERSATION_KEYS if name in body), "input")
    messages = body.get(key)
    if isinstance(messages, str):
        tail.add(key, "user", messages)
    for index, message in enumerate(messages if isinstance(messages, list) else []):
        _add_message(tail, f"{key}[{index}]", message)
    return head.segments, tail.segments


class _Stream:
    """Segments under construction."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []

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
