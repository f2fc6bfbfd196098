"""Text as search needs it: titles, and scripts without spaces cut into pairs that FTS5 can find."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

# Scripts whose words FTS5 would keep in one piece, a sentence long: Thai, Lao, Myanmar, Khmer, kana, Han.
_UNSPACED = re.compile(
    "[\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ede\u1000-\u109f\u1780-\u17d3"
    "\u3005-\u3007\u3041-\u309f\u30a1-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)
_HEADING = re.compile(r" {0,3}#{1,2}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def segmented(text: str) -> str:
    """The text with each run of a script without spaces as overlapping pairs, and the run's last character.

    部署前 becomes "部署 署前 前", so that FTS5 finds 部署 (a pair), 部 and 前 (beginnings), and
    the whole (neighbouring pairs).
    """
    return text if text.isascii() else _UNSPACED.sub(lambda run: _pairs(run.group(), last=True), text)


def segmented_query(text: str) -> str:
    """As `segmented`, without the last character, which would ask for a run's end."""
    return text if text.isascii() else _UNSPACED.sub(lambda run: _pairs(run.group(), last=False), text)


def _pairs(run: str, *, last: bool) -> str:
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    if last or not pairs:
        pairs.append(run[-1])
    return f" {' '.join(pairs)} "


def clean(text: str) -> str:
    """The text as SQLite and UTF-8 can hold it: no lone surrogates (bytes that were no UTF-8), no NUL."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").replace("\0", " ")


def count_unspaced(text: str) -> int:
    """How many characters of the text belong to scripts without spaces: each is about one token."""
    return 0 if text.isascii() else sum(len(run) for run in _UNSPACED.findall(text))


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
