"""The lines between `---` at the top of a note, as far as notes use them.

Not a YAML parser, on purpose: Cursor's rules write `globs: **/*.ts`, which YAML refuses, and what notes keep
here are words, lists of words and dates. Anything deeper than one level is left alone.
Format: https://help.obsidian.md/properties, https://cursor.com/docs/context/rules
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_KEY = re.compile(r"(?P<indent> *)(?P<key>[\w.$ -]*[\w.$-])\s*:(?:\s+(?P<value>.*))?$")
_ITEM = re.compile(r" *-\s+(.*)$")
_COMMENT = re.compile(r"\s#.*$")
MOST_LINES = 500  # a longer one is a text that begins with a line of dashes

Values = dict[str, str | list[str]]


class FrontMatter(NamedTuple):
    """The values by key (one level down: `outer.inner`), and the first line after them, counted from 1."""

    values: Mapping[str, str | list[str]]
    body_line: int

    def text(self, key: str) -> str:
        """The value as one text; empty where there is none."""
        value = self.values.get(key, "")
        return value if isinstance(value, str) else ", ".join(value)

    def words(self, key: str) -> list[str]:
        """The value as a list: one that is written as one, or a text with commas in it."""
        value = self.values.get(key, "")
        found = value.split(",") if isinstance(value, str) else value
        return [word for each in found if (word := each.strip().strip("\"'"))]

    def is_true(self, key: str) -> bool:
        """Whether the value says yes."""
        return self.text(key).strip().casefold() in ("true", "yes")


def read_front_matter(lines: list[str]) -> FrontMatter:
    """The front matter of a text's lines; an empty one where there is none, or none that ends."""
    if not lines or lines[0].rstrip() != "---":
        return FrontMatter({}, 1)
    for number, line in enumerate(lines[1:MOST_LINES], 1):
        if line.rstrip() in ("---", "..."):
            return FrontMatter(_values(lines[1:number]), number + 2)
    return FrontMatter({}, 1)


def _values(lines: list[str]) -> Values:
    values: Values = {}
    key, outer, folded = "", "", False
    for line in lines:
        found = _KEY.match(line)
        item = _ITEM.match(line)
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if item and key and not folded:
            known = values.get(key)
            values[key] = [*(known if isinstance(known, list) else []), _plain(item[1])]
        elif found and (not found["indent"] or not folded):
            name = found["key"].strip()
            outer, key = (outer, f"{outer}.{name}") if found["indent"] and outer else (name, name)
            value = (found["value"] or "").strip()
            folded = value[:1] in ("|", ">") and len(value) <= 2
            values[key] = "" if folded else _value(value)
        elif folded or (line[:1] == " " and isinstance(values.get(key), str)):
            values[key] = f"{values.get(key, '')} {line.strip()}".strip()
    return values


def _value(text: str) -> str | list[str]:
    if text.startswith("[") and text.endswith("]") and not text.startswith("[["):
        return [_plain(word) for word in _split(text[1:-1]) if word.strip()]
    return _plain(text)


def _split(text: str) -> list[str]:
    """At commas outside of quotes."""
    return re.findall(r"""(?:"[^"]*"|'[^']*'|[^,"'])+""", text)


def _plain(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] in "\"'" and (end := text.find(text[0], 1)) > 0:
        return text[1:end]
    return _COMMENT.sub("", text).strip()
