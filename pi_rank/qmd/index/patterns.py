"""Globs over paths, matched name by name: no pattern takes longer than its length times the path's."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator
from itertools import islice

from pi_rank.qmd.errors import QmdError

MOST_CHARACTERS = 4096  # of a pattern: as long as a path can be
MOST_ALTERNATIVES = 1000  # {a,b}{c,d} are four; a dozen more braces would be millions
_ANY_FOLDERS = "**"
# Inside a name, as in `a**b`, two stars are one, or a way through folders.
_STARS_IN_NAME = "{*,*/**/*}"
_SETS = re.compile(r"\[!?([^\]]+)\]")

_Name = Callable[[str], object]


class PatternError(QmdError):
    """A pattern that nothing can be matched with; the message says what is wrong with it."""


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a path matches one of the globs of a list with commas.

    `*` and `?` stay within a name, `**` crosses folders, `{a,b}` and `[ab]` are alternatives, `[!ab]` is any
    other character.

    :raises PatternError: the pattern is too long, has too many alternatives, or a set like `[z-a]`.
    """
    globs = [_compiled(glob) for glob in _globs(pattern)]
    return lambda path: _matches_any(globs, path.split("/"))


def _globs(pattern: str) -> list[str]:
    """Every glob that the pattern stands for, without braces."""
    if len(pattern) > MOST_CHARACTERS:
        raise PatternError(
            f"The pattern has {len(pattern):,} characters; at most {MOST_CHARACTERS:,} can be."
        )
    for found in _SETS.finditer(pattern):
        for low, high in re.findall(r"(.)-(.)", found[1]):
            if low > high:
                raise PatternError(f"Not a pattern: {pattern!r} ({low}-{high} is no range)")
    parts = [part.strip().removeprefix("./") for part in _split(pattern)]
    folded = (_folders_in_names(glob) for part in parts if part for glob in _without_braces(part))
    globs = list(islice((glob for each in folded for glob in _without_braces(each)), MOST_ALTERNATIVES + 1))
    if len(globs) > MOST_ALTERNATIVES:
        raise PatternError(f"The pattern has more than {MOST_ALTERNATIVES:,} alternatives: {pattern!r:.80}")
    return globs


def _split(text: str) -> list[str]:
    """The text at its commas, those inside braces excepted."""
    parts, depth = [""], 0
    for character in text:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _without_braces(glob: str) -> Iterator[str]:
    """One glob for each choice of the alternatives. A brace without its other half is itself."""
    waiting = [glob]
    while waiting:
        one = waiting.pop()
        pair = _outer_braces(one)
        if pair is None:
            yield one
            continue
        start, end = pair
        options = _split(one[start + 1 : end])
        waiting += [f"{one[:start]}{option}{one[end + 1 :]}" for option in reversed(options)]


def _outer_braces(glob: str) -> tuple[int, int] | None:
    """Where the first braces that belong together are."""
    opened: list[int] = []
    found: tuple[int, int] | None = None
    for at, character in enumerate(glob):
        if character == "{":
            opened.append(at)
        elif character == "}" and opened:
            start = opened.pop()
            if found is None or start < found[0]:
                found = start, at
            if not opened:
                break
    return found


def _folders_in_names(glob: str) -> str:
    """`a**b` with its stars as the alternatives that they stand for; `**` as a whole name stays."""
    names = glob.split("/")
    return "/".join(
        name if not name.strip("*") else _STARS_IN_NAME.join(re.split(r"\*\*+", name)) for name in names
    )


def _compiled(glob: str) -> list[_Name | None]:
    """A test for each name of the path; None for any number of folders."""
    names: list[_Name | None] = []
    for name in glob.split("/"):
        if not name.strip("*") and len(name) > 1:
            names += [None] if names[-1:] != [None] else []
        else:
            # The standard library writes stars so that what one of them took is never tried again.
            names.append(re.compile(fnmatch.translate(name)).match)
    return names


def _matches_any(globs: list[list[_Name | None]], path: list[str]) -> bool:
    return any(_matches(glob, path) for glob in globs)


def _matches(glob: list[_Name | None], path: list[str]) -> bool:
    """The greedy way with wildcards: only the last `**` passed is ever stretched, by one folder at a time."""
    at = here = 0
    stretched, folder = -1, 0
    while here < len(path):
        test = glob[at] if at < len(glob) else _nothing
        if test is None:
            stretched, folder = at, here
            at += 1
        elif test(path[here]):
            at += 1
            here += 1
        elif stretched >= 0:
            folder += 1
            at, here = stretched + 1, folder
        else:
            return False
    return all(test is None for test in glob[at:])


def _nothing(name: str) -> object:
    return None
