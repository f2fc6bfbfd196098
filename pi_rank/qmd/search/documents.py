"""Finds stored documents by path, address, document id or pattern."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from pi_rank.qmd.index.patterns import PatternError, matcher
from pi_rank.qmd.search.library import Library
from pi_rank.qmd.shelves.found import StoredDocument

DEFAULT_MAX_BYTES = 65_536  # of a document that `multi-get` shows
MOST_LINES = 10**9  # of a range: more than any document has
_RANGE = re.compile(r"^(?P<name>.+?):(?P<start>[0-9]+)(?::(?P<count>[0-9]+))?$", re.DOTALL)
_DOCID = re.compile(r"#?([0-9a-fA-F]{6,64})")


class Asked(NamedTuple):
    """A document's name, and the lines wanted: `start` from 1, `lines` of them; None for all."""

    name: str
    start: int = 1
    lines: int | None = None


class Selection(NamedTuple):
    """What `multi-get` found, and the names that it did not find."""

    documents: list[StoredDocument]
    missing: list[str]


def asked(text: str) -> Asked:
    """`name`, `name:start` or `name:start:count`."""
    found = _RANGE.match(text)
    if not found:
        return Asked(text)
    count = found["count"]
    return Asked(
        found["name"], max(1, _line_number(found["start"])), None if count is None else _line_number(count)
    )


def _line_number(digits: str) -> int:
    """The number that the digits write; Python itself refuses those of thousands of digits."""
    return min(MOST_LINES, int(digits)) if len(digits) <= len(str(MOST_LINES)) else MOST_LINES


def find(library: Library, name: str) -> StoredDocument | None:
    """The document called `name`: an address, a docid, a path in a collection or on disk, or a path's end."""
    documents = library.documents(list(library.config.collections.values()))
    for test in _tests(library, name):
        for document in documents:
            if test(document):
                return document
    return None


def _tests(library: Library, name: str) -> list[Callable[[StoredDocument], bool]]:
    address = name.removeprefix("qmd://").strip("/")
    docid = _DOCID.fullmatch(name)
    roots = {key: each.path.rstrip("/") for key, each in library.config.collections.items()}
    return [
        lambda document: f"{document.collection}/{document.path}" == address,
        lambda document: docid is not None and document.hash.startswith(docid[1].lower()),
        lambda document: document.path == address,
        lambda document: f"{roots[document.collection]}/{document.path}" == name,
        lambda document: not name.startswith("qmd://") and document.path.endswith(f"/{address}"),
    ]


def select(library: Library, pattern: str) -> Selection:
    """The documents of a list with commas, of a glob, or of one name, each once.

    :raises PatternError: a glob that nothing can be matched with, and no document is called so.
    """
    documents = library.documents(list(library.config.collections.values()))
    names = [name.strip() for name in pattern.split(",") if name.strip()] if "{" not in pattern else [pattern]
    chosen: dict[str, StoredDocument] = {}
    missing = []
    for name in names:
        found = _matching(library, documents, name)
        chosen.update((document.uri, document) for document in found)
        if not found:
            missing.append(name)
    return Selection(list(chosen.values()), missing)


def _matching(library: Library, documents: list[StoredDocument], name: str) -> list[StoredDocument]:
    one = find(library, name)
    if not any(mark in name for mark in "*?[{"):
        return [one] if one else []
    try:
        matches = matcher(name.removeprefix("qmd://"))
    except PatternError:
        if one is None:
            raise
        return [one]
    found = [each for each in documents if matches(each.path) or matches(f"{each.collection}/{each.path}")]
    return found or ([one] if one else [])


def suggestions(library: Library, name: str) -> list[str]:
    """Up to five paths that look like a name that was not found."""
    import difflib

    documents = library.documents(list(library.config.collections.values()))
    return difflib.get_close_matches(name, sorted({each.path for each in documents}), n=5, cutoff=0.4)


def lines_of(text: str, start: int = 1, count: int | None = None) -> list[str]:
    """`count` lines of the text from line `start`."""
    lines = text.split("\n")
    return lines[start - 1 :] if count is None else lines[start - 1 : start - 1 + count]


def cut_lines(text: str, most: int | None) -> str:
    """The first lines of the text, and a line that says how many are left out."""
    lines = text.split("\n")
    if most is None or len(lines) <= most:
        return text
    return "\n".join([*lines[:most], "", f"[... truncated {len(lines) - most} more lines]"])
