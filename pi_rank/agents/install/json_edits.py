"""One element into a JSON file's text and out of it again, with everything else as it was."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pi_rank.agents.install.jsonc import Item, Node, content_end, parse
from pi_rank.errors import ConfigError


class Wanted(NamedTuple):
    """An element that a file is to hold: in the array, or under the key in the object, at `path`.

    `is_ours` tells our element, in whatever form an earlier version or the agent wrote it.
    """

    path: tuple[str, ...]
    key: str | None
    value: Any
    is_ours: Callable[[str, Any], bool]


def with_element(text: str, wanted: Wanted) -> str:
    """The text with the element, once and in its present form; the same text where it is there already.

    :raises ConfigError: the text is not JSON, or has something else than an object or array on the way.
    """
    if not text.strip("\ufeff \t\r\n"):
        style = _Style("  ", newline_of(text))
        return f"{text}{_written(_wrapped(wanted, wanted.path), '', style)}{style.newline}"
    ours = _ours(_reached(text, wanted), wanted)
    if [item.node.value for item in ours] == [wanted.value]:
        return text
    text = without_element(text, wanted)
    node, rest = _deepest(text, parse(text), wanted.path)
    if rest:
        return _inserted(text, node, rest[0], _wrapped(wanted, rest[1:]))
    return _inserted(text, node, wanted.key, wanted.value)


def without_element(text: str, wanted: Wanted) -> str:
    """The text without our elements at that place.

    :raises ConfigError: the text is not JSON.
    """
    if not text.strip("\ufeff \t\r\n"):
        return text
    while ours := _ours(_reached(text, wanted), wanted):
        node = _reached(text, wanted)
        assert node is not None and node.items is not None
        text = _cut(text, node, node.items.index(ours[-1]))
    return text


def without_empty(text: str, path: Sequence[str]) -> str:
    """The text without the member at `path`, and without those above it, as far as they are empty."""
    for length in range(len(path), 0, -1):
        node, rest = _deepest(text, parse(text), path[: length - 1])
        item = None if rest else node.member(path[length - 1])
        if item is None or item.node.value not in ({}, []) or _has_comment(text, item.node):
            break
        assert node.items is not None
        text = _cut(text, node, node.items.index(item))
    return text


def missing_levels(text: str, path: Sequence[str]) -> int:
    """How many of the objects and arrays on a path are not there yet."""
    if not text.strip("\ufeff \t\r\n"):
        return len(path)
    return len(_deepest(text, parse(text), path)[1])


def newline_of(text: str) -> str:
    """The line break that most of a text's lines end with."""
    return "\r\n" if 2 * text.count("\r\n") > text.count("\n") else "\n"


def _has_comment(text: str, node: Node) -> bool:
    return bool(text[node.start + 1 : node.end - 1].strip())


def _deepest(text: str, node: Node, path: Sequence[str]) -> tuple[Node, Sequence[str]]:
    """The last node on the way that is there, and the keys that are not."""
    for at, key in enumerate(path):
        if not node.is_object:
            where = ".".join(path[:at]) or "the file"
            raise ConfigError(f"line {text.count(chr(10), 0, node.start) + 1}: {where} is not an object")
        item = node.member(key)
        if item is None:
            return node, path[at:]
        node = item.node
    return node, ()


def _reached(text: str, wanted: Wanted) -> Node | None:
    node, rest = _deepest(text, parse(text), wanted.path)
    if rest:
        return None
    if not isinstance(node.value, dict if wanted.key is not None else list):
        kind = "an object" if wanted.key is not None else "a list"
        line = text.count("\n", 0, node.start) + 1
        raise ConfigError(f"line {line}: {'.'.join(wanted.path)} is not {kind}")
    return node


def _ours(node: Node | None, wanted: Wanted) -> list[Item]:
    if node is None or node.items is None:
        return []
    return [item for item in node.items if wanted.is_ours(item.key, item.node.value)]


def _wrapped(wanted: Wanted, path: Sequence[str]) -> Any:  # noqa: ANN401
    value = [wanted.value] if wanted.key is None else {wanted.key: wanted.value}
    for key in reversed(path):
        value = {key: value}
    return value


class _Style(NamedTuple):
    indent: str
    newline: str


def _style(text: str) -> _Style:
    """The file's own indent: that of the first line that has one."""
    found = re.search(r"\n([ \t]+)\S", text)
    return _Style(found[1] if found else "  ", newline_of(text))


def _written(value: Any, indent: str, style: _Style) -> str:  # noqa: ANN401
    text = json.dumps(value, ensure_ascii=False, indent=style.indent)
    return text.replace("\n", f"{style.newline}{indent}")


def _inserted(text: str, node: Node, key: str | None, value: Any) -> str:  # noqa: ANN401
    """The value as the node's last element.

    In lines of its own unless the node is one line with others in it.
    """
    style = _style(text)
    end = content_end(text, node)
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    items = node.items or []
    in_lines = "\n" in text[node.start : node.end]
    if items and not in_lines:
        new = f" {name}{json.dumps(value, ensure_ascii=False)}"
    else:
        indent = _indent_at(text, items[0].start) if items else _indent_at(text, node.start) + style.indent
        new = f"{style.newline}{indent}{name}{_written(value, indent, style)}"
        if not in_lines:  # an empty one, whose closing bracket follows at once
            new += f"{style.newline}{_indent_at(text, node.start)}"
    if items and items[-1].comma < 0:
        last = items[-1].node.end
        return f"{text[:last]},{text[last:end]}{new}{text[end:]}"
    if items:  # the file ends its lists with a comma, and so does ours
        new += ","
    return f"{text[:end]}{new}{text[end:]}"


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _cut(text: str, node: Node, at: int) -> str:
    """The text without one element, the blanks before it, and the comma that parts it from a neighbour."""
    assert node.items is not None
    item = node.items[at]
    before = node.items[at - 1] if at else None
    start = _start_of_gap(text, before.comma + 1 if before else node.start + 1, item.start)
    end = item.comma + 1 if item.comma >= 0 else item.node.end
    if (
        "\n" in text[start : item.start]
        and "\n" not in text[end : node.end]
        and "//" in text[node.start : start]
    ):
        start = item.start  # the line break ends a comment
    kept = text[:start] + text[end:]
    if before is not None and item.comma < 0:
        kept = kept[: before.comma] + kept[before.comma + 1 :]
    return kept


def _start_of_gap(text: str, low: int, at: int) -> int:
    """Where the blanks before `at` begin, not before `low`."""
    while at > low and text[at - 1] in " \t\r\n":
        at -= 1
    return at
