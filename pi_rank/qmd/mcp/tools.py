"""What the MCP tools do, without the SDK: arguments in, text and structured content out."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from pi_rank.errors import PiRankError
from pi_rank.qmd.errors import QmdError
from pi_rank.qmd.mcp.memory import explain, recall
from pi_rank.qmd.mcp.values import Resource, ToolAnswer, limit_of, list_of, names_of, number_of, text_of
from pi_rank.qmd.paths import Places
from pi_rank.qmd.search import documents, search
from pi_rank.qmd.search.collection_facts import all_embedded, counted
from pi_rank.qmd.search.formats import rounded
from pi_rank.qmd.search.library import Library, opened_library
from pi_rank.qmd.search.snippet import JSON_CHARACTERS, extract, numbered
from pi_rank.qmd.shelves.found import Found, StoredDocument
from pi_rank.qmd.shelves.query_language import Document, Search, telling_words
from pi_rank.qmd.text import clean
from pi_rank.serving.failures import log_failure

if TYPE_CHECKING:
    from pi_rank.qmd.warm.warm import Warm


MAX_SEARCHES = 10  # as qmd's schema says


class Tools:
    """The tools on one index. Threads may share it.

    :param folder: where a client that names no place asks: the folder that it started this server in. None
        where others than that client may ask.
    """

    def __init__(self, places: Places, warm: Warm, folder: str | None = None) -> None:
        self._places = places
        self._warm = warm
        self._tools: dict[str, Callable[[Library, dict[str, Any]], ToolAnswer]] = {
            "query": _query,
            "get": _get,
            "multi_get": _multi_get,
            "status": _status,
            "recall": partial(recall, warm),
            "explain": partial(explain, warm, folder),
        }

    def call(self, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        """Run a tool. What the caller did wrong comes back as an answer that is an error.

        :raises KeyError: there is no such tool.
        """
        tool = self._tools[name]
        try:
            with opened_library(self._places, self._warm) as library:
                return tool(library, arguments)
        except (PiRankError, OSError) as error:
            return ToolAnswer(f"Error: {error}", is_error=True)
        except Exception as error:  # a caller learns nothing of it, and the others are served
            log_failure(error)
            return ToolAnswer("Error: internal error", is_error=True)

    def read(self, uri: str) -> Resource | None:
        """The document at a `qmd://` address."""
        with opened_library(self._places, self._warm) as library:
            document = documents.find(library, uri)
            return (
                None
                if document is None
                else _resource(library, document, numbered(library.text_of(document)))
            )

    def overview(self) -> str:
        """What a client is told about this server."""
        with opened_library(self._places, self._warm) as library:
            collections = list(library.config.collections.values())
            total = len(library.documents(collections))
        names = ", ".join(each.name for each in collections) or "none yet"
        return (
            f"Local search over {total} documents. Collections: {names}.\n"
            "Use `query` to search, `get` and `multi_get` to read, `status` for what there is; "
            "`recall` and `explain` for the user's own memory records."
        )


def _query(library: Library, arguments: dict[str, Any]) -> ToolAnswer:
    question, asked = arguments.get("query"), list_of(arguments, "searches", MAX_SEARCHES)
    if not question and not asked:
        raise QmdError("provide either 'query' (plain text) or 'searches' (typed sub-queries)")
    if question and asked:
        raise QmdError("'query' and 'searches' are mutually exclusive; provide only one")
    collections = library.config.searched(names_of(arguments, "collections"))
    limit = limit_of(arguments, 10)
    if asked:
        searches = tuple(_search(each) for each in asked)
        answer = search.structured(library, Document(searches, None), collections, limit)
        shown = searches[0].query
    else:
        shown = text_of(arguments, "query")
        searches = (Search(search.LEX, shown),)
        answer = search.query(library, shown, collections, limit)
    least = number_of(arguments, "minScore", 0)
    texts = [*(each.query for each in searches), str(arguments.get("intent") or "")]
    words = tuple(word for text in texts for word in telling_words(text))
    rows = [row for found in answer.found if found.score >= least and (row := _result(library, found, words))]
    lines = [f"{row['docid']} {round(row['score'] * 100)}% {row['file']} - {row['title']}" for row in rows]
    text = f'Found {len(rows)} results for "{shown}":\n\n' + "\n".join(lines)
    text = text if rows else f'No results found for "{shown}"'
    return ToolAnswer(f"{text}\n\n{search.told(answer)}" if answer.why else text, {"results": rows})


def _search(each: Any) -> Search:  # noqa: ANN401
    kind, text = (each.get("type"), each.get("query")) if isinstance(each, dict) else (None, None)
    if kind not in ("lex", "vec", "hyde") or not isinstance(text, str) or not text.strip():
        raise QmdError("each of 'searches' needs a type (lex, vec or hyde) and a query")
    return Search(kind, clean(text))


def _result(library: Library, found: Found, words: tuple[str, ...]) -> dict[str, Any] | None:
    body = library.body(found)
    if not body:
        return None  # gone since it was ranked
    snippet = extract(body, words, JSON_CHARACTERS, found.span)
    return {
        "docid": found.docid,
        "file": f"{found.collection}/{found.path}",
        "title": found.title,
        "score": rounded(found.score),
        "context": library.config.context(found.collection, found.path),
        "line": snippet.line,
        "snippet": numbered(snippet.text, snippet.line),
        **found.own,
    }


def _get(library: Library, arguments: dict[str, Any]) -> ToolAnswer:
    text = text_of(arguments, "file")
    name, start, count = documents.asked(text)
    document = documents.find(library, text) or documents.find(library, name)
    if document is None:
        similar = documents.suggestions(library, name)
        hint = (
            "\n\nDid you mean one of these?\n" + "\n".join(f"  - {path}" for path in similar)
            if similar
            else ""
        )
        return ToolAnswer(f"Document not found: {name}{hint}", is_error=True)
    start = max(1, int(number_of(arguments, "fromLine", start)))
    most = number_of(arguments, "maxLines", -1 if count is None else count)
    shown = "\n".join(documents.lines_of(library.text_of(document), start, None if most < 0 else int(most)))
    shown = numbered(shown, start) if arguments.get("lineNumbers", True) else shown
    context = library.config.context(document.collection, document.path)
    if context:
        shown = f"<!-- Context: {context} -->\n\n{shown}"
    return ToolAnswer(resources=(_resource(library, document, shown),))


def _multi_get(library: Library, arguments: dict[str, Any]) -> ToolAnswer:
    pattern = text_of(arguments, "pattern")
    chosen, missing = documents.select(library, pattern)
    if not chosen:
        return ToolAnswer(f"No files matched pattern: {pattern}", is_error=True)
    most_bytes = number_of(arguments, "maxBytes", documents.DEFAULT_MAX_BYTES)
    most = number_of(arguments, "maxLines", -1)
    problems = [f"File not found: {name}" for name in missing]
    resources = []
    for document in chosen:
        if document.size > most_bytes:
            problems.append(f"Skipped {document.uri}: {document.size} bytes, more than {most_bytes:.0f}")
            continue
        text = documents.cut_lines(library.text_of(document), None if most < 0 else int(most))
        shown = numbered(text) if arguments.get("lineNumbers", True) else text
        resources.append(_resource(library, document, shown))
    return ToolAnswer("Errors:\n" + "\n".join(problems) if problems else "", resources=tuple(resources))


def _status(library: Library, arguments: dict[str, Any]) -> ToolAnswer:
    collections = []
    counts = []
    for each in library.config.collections.values():
        count, updated = counted(library, each)
        row = {"name": each.name, "path": each.path, "pattern": each.pattern, "documents": count}
        counts.append(count)
        collections.append({**row, "kind": each.kind, "lastUpdated": _moment(updated)})
    vectors, pending = all_embedded(library)
    total = sum(counts)
    lines = [
        f"QMD Index Status:\n  Total documents: {total}\n  Needs embedding: {pending}",
        f"  Vector index: {'yes' if vectors else 'no'}\n  Collections: {len(collections)}",
        *(f"    - {row['name']}: {row['path']} ({row['documents']} docs)" for row in collections),
    ]
    structured = {"totalDocuments": total, "needsEmbedding": pending, "hasVectorIndex": bool(vectors)}
    return ToolAnswer("\n".join(lines), {**structured, "collections": collections})


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else dt.datetime.fromtimestamp(seconds, dt.timezone.utc).isoformat()


def _resource(library: Library, document: StoredDocument, text: str) -> Resource:
    return Resource(document.uri, f"{document.collection}/{document.path}", document.title, text)
