"""JSON with comments and trailing commas as a tree of places in its text.

A text can then be changed in one place. The grammar is JSON (RFC 8259) with `//` and `/* */` comments and a
comma after the last element, as editors and agents accept it in configuration files.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from pi_rank.errors import ConfigError

MAX_DEPTH = 64
_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')


class Item(NamedTuple):
    """One member of an object or element of an array; `key` is "" in an array, `start` is where it begins.

    `comma` is the place of the comma after it, -1 where there is none.
    """

    key: str
    start: int
    node: Node
    comma: int


class Node(NamedTuple):
    """A value at `text[start:end]`. `items` is None for what is neither an object nor an array."""

    start: int
    end: int
    value: Any
    items: list[Item] | None = None

    @property
    def is_object(self) -> bool:
        """Whether it is an object."""
        return isinstance(self.value, dict)

    def member(self, key: str) -> Item | None:
        """The member that a reader of the file gets: the last of that key."""
        return next((item for item in reversed(self.items or []) if item.key == key), None)


def parse(text: str) -> Node:
    """The tree of a text.

    :raises ConfigError: it is no such JSON; the message names the line.
    """
    reader = _Reader(text)
    at = reader.space(1 if text.startswith("\ufeff") else 0)
    node = reader.value(at, 0)
    end = reader.space(node.end)
    if end != len(text):
        raise reader.error(end, "something follows the value")
    return node


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text

    def error(self, at: int, what: str) -> ConfigError:
        return ConfigError(f"line {self.text.count(chr(10), 0, at) + 1}: {what}")

    def space(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def value(self, at: int, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise self.error(at, "values are nested too deep")
        sign = self.text[at : at + 1]
        if sign in ("{", "["):
            return self._container(at, depth)
        if sign == '"':
            end, found = self._string(at)
            return Node(at, end, found)
        match = _SCALAR.match(self.text, at)
        if match is None:
            raise self.error(
                at, "a value is missing" if at >= len(self.text) else f"no value: {self.text[at : at + 12]!r}"
            )
        return Node(at, match.end(), json.loads(match[0]))

    def _string(self, at: int) -> tuple[int, str]:
        match = _STRING.match(self.text, at)
        if match is None:
            raise self.error(at, "a string does not end")
        try:
            return match.end(), json.loads(match[0])
        except ValueError:
            raise self.error(at, "a string holds an unknown escape") from None

    def _container(self, start: int, depth: int) -> Node:
        closing = "}" if self.text[start] == "{" else "]"
        items: list[Item] = []
        at = self.space(start + 1)
        while self.text[at : at + 1] != closing:
            if items and items[-1].comma < 0:
                raise self.error(at, f"a comma or {closing} is missing")
            item = self._item(at, closing, depth)
            items.append(item)
            at = self.space(item.comma + 1 if item.comma >= 0 else item.node.end)
        values = (
            {item.key: item.node.value for item in items} if closing == "}" else [i.node.value for i in items]
        )
        return Node(start, at + 1, values, items)

    def _item(self, start: int, closing: str, depth: int) -> Item:
        key, at = "", start
        if closing == "}":
            if self.text[at : at + 1] != '"':
                raise self.error(at, "a name in quotation marks is missing")
            at, key = self._string(at)
            at = self.space(at)
            if self.text[at : at + 1] != ":":
                raise self.error(at, "a colon is missing")
            at = self.space(at + 1)
        node = self.value(at, depth + 1)
        after = self.space(node.end)
        return Item(key, start, node, after if self.text[after : after + 1] == "," else -1)


def content_end(text: str, node: Node) -> int:
    """Where an object or array could go on: after its last element, comma or comment."""
    at = node.items[-1].node.end if node.items else node.start + 1
    if node.items and node.items[-1].comma >= 0:
        at = node.items[-1].comma + 1
    last = at
    for match in re.finditer(r"//[^\r\n]*|/\*.*?\*/", text[at : node.end - 1], re.DOTALL):
        last = at + match.end()
    return last
