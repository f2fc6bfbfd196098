"""Text of files as the index keeps it: without what SQLite cannot hold, and with a title."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_HEADING = re.compile(r" {0,3}#{1,2}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def clean(text: str) -> str:
    """The text as SQLite and UTF-8 can hold it: no lone surrogates (bytes that were no UTF-8), no NUL."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").replace("\0", " ")


def title_of(body: str, path: str) -> str:
    """The first heading of level one or two outside of code, else the file's name without its ending."""
    fence = ""
    for line in body.splitlines():
        if mark := fence_mark(line, fence):
            fence = "" if fence else mark
        elif not fence and (heading := _HEADING.match(line)) and heading[1]:
            return heading[1]
    return PurePosixPath(path).stem


def fence_mark(line: str, inside: str) -> str:
    """The fence that the line opens, or, where `inside` one, closes; else nothing.

    CommonMark: a fence is closed by at least as many of the same character, with nothing behind them.
    """
    found = _FENCE.match(line)
    if not found:
        return ""
    mark = found[1]
    if inside:
        closes = mark[0] == inside[0] and len(mark) >= len(inside) and line.strip() == mark
        return mark if closes else ""
    return "" if mark[0] == "`" and "`" in line[found.end() :] else mark
