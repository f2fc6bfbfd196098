"""Markdown as passages: each list item, paragraph, table row or code block with the headings above it.

Line by line, as people write notes; what CommonMark says of nested quotations and lazy lines makes no other
record of them, so no parser is needed (https://spec.commonmark.org/0.31.2/).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

_HEADING = re.compile(r" {0,3}(#{1,6})(?=\s|$)")
_ITEM = re.compile(r"(?P<mark>(?P<indent>\s*)(?:[-*+]|\d{1,9}[.)])\s+)(?P<text>\S.*)$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)$")
_RULE = re.compile(r" {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})\s*$")
_TABLE_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_BOX = re.compile(r"\[[ xX]\]\s+")
MOST_CODE_LINES = 12  # a longer block is an example to look up, not something to remember
MOST_LEAD_CHARACTERS = 80


class Passage(NamedTuple):
    """One thing that a text says: its first line from 1, what stands above it outermost first, and its words.

    `path` holds headings, and the sentence with a colon that introduces a list. `headings`: those alone.
    `titles`: how many of them are of the first level. `item`: whether it is one of a list.
    """

    line: int
    path: tuple[str, ...]
    headings: tuple[str, ...]
    titles: int
    text: str
    item: bool


class _Block(NamedTuple):
    kind: str  # heading, item, text, row, code
    line: int
    depth: int  # a heading's level, else how far it is indented
    text: str


def read_passages(lines: list[str], first_line: int = 1) -> Iterator[Passage]:
    """The passages of a text's lines, of which the first one has this number."""
    blocks = _blocks(lines, first_line)
    headings: list[tuple[int, str]] = []
    leads: list[tuple[int, str]] = []  # what introduces what follows: a sentence at -1, items by indentation
    for block, following in zip_longest(blocks, blocks[1:]):
        if block.kind == "heading":
            headings = [known for known in headings if known[0] < block.depth]
            headings.append((block.depth, block.text))
            leads = []
            continue
        if block.kind == "item":
            leads = [lead for lead in leads if lead[0] < block.depth]
        elif not block.depth:
            leads = []
        above = tuple(text for _, text in headings)
        path = (*above, *(text for _, text in leads))
        introduces = following is not None and following.kind == "item" and following.depth > _own(block)
        lead = block.text.strip("*_ ").rstrip(":：").strip("*_ ")
        is_lead = introduces and _ends_in_colon(block.text)
        if is_lead or (introduces and block.kind == "item" and len(lead) <= MOST_LEAD_CHARACTERS):
            leads.append((_own(block), lead[:MOST_LEAD_CHARACTERS]))
        if block.text and not is_lead:
            titles = sum(1 for level, _ in headings if level == 1)
            yield Passage(block.line, path, above, titles, block.text, block.kind in ("item", "row"))


def statement_of(passage: Passage) -> str:
    """What a passage says to who does not see the page: with the nearest heading or lead, unless a title."""
    if len(passage.path) <= passage.titles:
        return passage.text
    return f"{passage.path[-1].rstrip(':')}: {passage.text}"


def tags_of(passage: Passage) -> list[str]:
    """The headings that a statement does not begin with."""
    path = passage.path if len(passage.path) <= passage.titles else passage.path[:-1]
    return [heading for heading in path if not heading.casefold().endswith(".md")]


def _ends_in_colon(text: str) -> bool:
    return text.rstrip("*_ ").endswith((":", "："))


def _own(block: _Block) -> int:
    return block.depth if block.kind == "item" else -1


class _Reader:
    """Collects blocks line by line."""

    def __init__(self) -> None:
        self.blocks: list[_Block] = []
        self._open = False  # whether the next line may belong to the last block
        self._quoted = False
        self._header: list[str] | None = None

    def add(self, kind: str, line: int, depth: int, text: str) -> None:
        self.blocks.append(_Block(kind, line, depth, " ".join(text.split())))
        self._open = kind in ("item", "text")
        self._quoted = False

    def extend(self, text: str) -> None:
        last = self.blocks[-1]
        self.blocks[-1] = last._replace(text=" ".join(f"{last.text} {text}".split()))

    def line(self, number: int, line: str) -> None:
        """A line outside of code."""
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            self._open = False
            self._header = None
        elif heading := _HEADING.match(line):
            text = line[heading.end() :].strip()
            self.add("heading", number, len(heading[1]), text.rstrip("#").strip() or text)
        elif self._open and self.blocks[-1].kind == "text" and (under := _UNDERLINE.match(line)):
            self.blocks[-1] = self.blocks[-1]._replace(kind="heading", depth=1 if under[1][0] == "=" else 2)
            self._open = False
        elif _RULE.match(line):
            self._open = False
        elif item := _ITEM.match(line):
            self.add("item", number, len(item["indent"].expandtabs(4)), _BOX.sub("", item["text"], count=1))
        elif line.lstrip().startswith("|"):
            self._row(number, line)
        elif self._belongs(indent) and (self._quoted or not line.lstrip().startswith(">")):
            self.extend(line.lstrip("> \t") if self._quoted else line)
            self._open = True
        else:
            self.add("text", number, 0, line.lstrip("> \t"))
            self._quoted = line.lstrip().startswith(">")

    def code(self, number: int, indent: int, code: list[str]) -> None:
        """A block of code: part of what introduces it, else something said by itself."""
        lines = [line.strip() for line in code if line.strip()]
        if not lines or len(lines) > MOST_CODE_LINES:
            self._open = False
            return
        text = " ".join(f"`{line}`" for line in lines)
        if (
            self.blocks
            and (self._belongs(indent) or _ends_in_colon(self.blocks[-1].text))
            and (self.blocks[-1].kind in ("item", "text"))
        ):
            self.extend(text)
        else:
            self.add("code", number, 0, text)

    def _belongs(self, indent: int) -> bool:
        if not self.blocks:
            return False
        last = self.blocks[-1]
        return self._open or (last.kind == "item" and indent > last.depth)

    def _row(self, number: int, line: str) -> None:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        self._open = False
        if self._header is None:
            self._header = cells
        elif not _TABLE_RULE.match(line):
            named = zip(self._header, [*cells, *[""] * len(self._header)], strict=False)
            pairs = (f"{name}: {cell}" if name else cell for name, cell in named if cell)
            self.add("row", number, 0, "; ".join(pairs))


def _blocks(lines: list[str], first_line: int) -> list[_Block]:
    reader = _Reader()
    fence, start, code = "", 0, list[str]()
    for number, line in enumerate(_without_comments(lines), first_line):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                reader.code(start, len(line) - len(line.lstrip()), code)
                fence, code = "", []
            else:
                code.append(line)
        elif mark:
            fence, start = mark[1], number
        else:
            reader.line(number, line)
    if code:  # a fence that is never closed
        reader.code(start, 0, code)
    return reader.blocks


def _without_comments(lines: list[str]) -> list[str]:
    """The lines with HTML comments blanked; none is lost, so that numbers stay."""
    text = "\n".join(lines)
    parts, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        parts += [text[at:start], "\n" * text.count("\n", start, end)]
        at = end + len("-->")
    return "".join([*parts, text[at:]]).split("\n") if parts else lines
