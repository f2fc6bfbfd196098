"""The search commands: options in, rows out."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from pi_rank.files.locks import is_held
from pi_rank.qmd import config as configuration
from pi_rank.qmd.arguments import MANY
from pi_rank.qmd.commands.call import Call
from pi_rank.qmd.config import MEMORY, Collection
from pi_rank.qmd.errors import QmdError
from pi_rank.qmd.search import search
from pi_rank.qmd.search.formats import FORMATS, Row, as_results
from pi_rank.qmd.search.library import Library
from pi_rank.qmd.search.snippet import JSON_CHARACTERS, TEXT_CHARACTERS, extract, numbered
from pi_rank.qmd.shelves.found import Found
from pi_rank.qmd.shelves.query_language import telling_words
from pi_rank.qmd.text import clean

FEW, MORE = 5, 20  # results without -n: for a person, for a program
ATTEMPTS = 3  # where documents change between being ranked and being read
_PI_ID = re.compile(r"\bmem_[A-Za-z0-9_]+\b", re.ASCII)
_Ranking = Callable[[Library, str, list[Collection], int], search.Answer]
_RANKINGS: dict[str, _Ranking] = {"search": search.search, "vsearch": search.vsearch, "query": search.query}


def run(call: Call) -> int:
    """Search, and write the rows in the format asked for."""
    text = clean(" ".join(call.words))
    if not text.strip():
        raise QmdError(f"Usage: qmd {call.arguments.words[0]} [options] <query>")
    if call.has("wait") and call.warm is None:
        from pi_rank.qmd.warm.warm import Warm

        with Warm.opened(call.places) as warm:
            return _answer(call._replace(warm=warm), text)
    code = _answer(call, text)
    if call.warm is None:
        _start_daemon_if_wanted(call)
    return code


def _start_daemon_if_wanted(call: Call) -> None:
    """For the next search: this one has been answered."""
    setting = call.environment.get("PI_RANK_QMD_DAEMON", "")
    if setting == "off" or (
        setting != "auto" and not configuration.load(call.places.config).daemon_on_demand
    ):
        return
    if not is_held(call.places.daemon_lock):
        from pi_rank.qmd.commands.daemon import spawn

        spawn(call)


def _answer(call: Call, text: str) -> int:
    format_ = call.arguments.format
    telling = telling_words(text)
    for _ in range(ATTEMPTS):
        with call.library() as library:
            collections = library.config.searched(call.arguments.values.get("collection", []))
            answer = _RANKINGS[call.arguments.words[0]](library, text, collections, _limit(call, format_))
            rows = [_row(call, library, answer, each, telling, format_) for each in _shown(call, answer)]
        if all(row is not None for row in rows):
            break
    known = [row for row in rows if row is not None]
    _tell(call, answer)
    for_pi = format_ == "json" and speaks_to_pi(call, collections)
    call.out(as_results(_readable_by_pi(call, known)) if for_pi else FORMATS[format_](known))
    return 0


def _shown(call: Call, answer: search.Answer) -> list[Found]:
    least = call.arguments.min_score
    return [each for each in answer.found if round(each.score, 2) >= least]


def speaks_to_pi(call: Call, collections: list[Collection]) -> bool:
    """Whether JSON has PI's shape: only memory is searched, or PI_RANK_QMD_MODE says so (`pi`, `qmd`)."""
    mode = call.environment.get("PI_RANK_QMD_MODE")
    if mode in ("pi", "qmd"):
        return mode == "pi"
    return bool(collections) and all(each.kind == MEMORY for each in collections)


def _limit(call: Call, format_: str) -> int:
    if call.has("all"):
        return MANY
    return call.arguments.number("count", MORE if format_ in ("json", "files") else FEW)


def _readable_by_pi(call: Call, rows: list[Row]) -> list[Row]:
    """The records whose id PI reads back whole; another one would be taken for a record that it is not."""
    kept = []
    for row in rows:
        seen = _PI_ID.search(row.extra.get("path", ""))
        if seen and seen.group() == row.extra["id"]:
            kept.append(row)
        else:
            call.note(f"Left out: PI cannot read the id of {row.file}")
    return kept


def _row(
    call: Call, library: Library, answer: search.Answer, found: Found, telling: tuple[str, ...], format_: str
) -> Row | None:
    """The row of a document; None where it has changed since it was ranked."""
    body = library.body(found)
    if not body:
        return None
    limit = JSON_CHARACTERS if format_ == "json" else TEXT_CHARACTERS
    snippet = extract(body, telling, limit, found.span)
    shown = body if call.has("full") else snippet.text
    if call.has("line_numbers"):
        shown = numbered(shown)
    full_path = call.has("full_path")
    return Row(
        docid=None if full_path else found.docid,
        score=found.score,
        file=_full_path(call, library, found) if full_path else found.uri,
        line=snippet.line,
        title=found.title,
        context=library.config.context(found.collection, found.path),
        snippet=shown,
        body=shown if call.has("full") else None,
        explain=search.explain(answer, found) if call.has("explain") else None,
        extra=found.own,
    )


def _full_path(call: Call, library: Library, found: Found) -> str:
    """The file on disk: from the working directory where it lies below it, else from the root."""
    path = os.path.join(library.config.collection(found.collection).path, found.path)  # noqa: PTH118
    relative = os.path.relpath(path, call.directory)
    return path if relative.startswith("..") else f"./{relative}"


def _tell(call: Call, answer: search.Answer) -> None:
    """What the caller should know about the answer and a program must not read."""
    if answer.mode in ("any", "terms") and call.arguments.words[0] == "search":
        call.note("No document has all the words; ranked by any of them.")
    if answer.why:
        call.note(search.told(answer))
