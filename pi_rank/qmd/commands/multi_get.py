"""`multi-get`: several documents, in qmd's formats."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import NamedTuple

from pi_rank.qmd.commands.call import Call
from pi_rank.qmd.errors import QmdError
from pi_rank.qmd.search import documents
from pi_rank.qmd.search.documents import DEFAULT_MAX_BYTES, cut_lines
from pi_rank.qmd.search.formats import doubled, dump, escaped
from pi_rank.qmd.search.library import Library
from pi_rank.qmd.search.snippet import numbered
from pi_rank.qmd.shelves.found import StoredDocument

RULE = "=" * 60


class Entry(NamedTuple):
    """A document as it is shown: its text, or why it was left out. `file`: its path, or address in a list."""

    file: str
    uri: str
    docid: str
    title: str
    context: str | None
    body: str
    left_out: str | None


def run(call: Call) -> int:
    """Several documents, by a glob or by a list with commas."""
    if not call.words:
        raise QmdError(
            "Usage: qmd multi-get <pattern> [-l <lines>] [--max-bytes <bytes>] [--no-line-numbers]"
        )
    pattern = " ".join(call.words)
    with call.library() as library:
        chosen, missing = documents.select(library, pattern)
        if not chosen:
            raise QmdError(f"No files matched pattern: {pattern}")
        for name in missing:
            call.note(f"File not found: {name}")
        entries = _entries(call, library, chosen, "," in pattern)
    call.out(_WRITERS[call.arguments.format](entries))
    return 0


def _entries(call: Call, library: Library, chosen: list[StoredDocument], is_list: bool) -> list[Entry]:
    most_bytes = call.arguments.number("max_bytes", DEFAULT_MAX_BYTES)
    most_lines = call.arguments.number("lines", 0) or None
    entries = []
    for each in chosen:
        left_out = None
        if each.size > most_bytes:
            left_out = (
                f"File too large ({each.size // 1024}KB > {most_bytes // 1024}KB). "
                f"Use 'qmd get {each.uri}' to retrieve."
            )
        text = "" if left_out else cut_lines(library.text_of(each), most_lines)
        body = text if call.has("no_line_numbers") else numbered(text)
        file = each.uri if is_list else each.path
        context = library.config.context(each.collection, each.path)
        entries.append(Entry(file, each.uri, each.docid, each.title, context, body, left_out))
    return entries


def _as_json(entries: list[Entry]) -> str:
    rows = []
    for each in entries:
        row: dict[str, object] = {"file": each.file, "docid": each.docid, "title": each.title}
        if each.context:
            row["context"] = each.context
        rows.append(
            row | ({"skipped": True, "reason": each.left_out} if each.left_out else {"body": each.body})
        )
    return dump(rows)


def _as_files(entries: list[Entry]) -> str:
    lines = []
    for each in entries:
        context = f',"{doubled(each.context)}"' if each.context else ""
        lines.append(f"{each.docid},{each.uri}{context}{',[SKIPPED]' if each.left_out else ''}\n")
    return "".join(lines)


def _as_csv(entries: list[Entry]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["docid", "file", "title", "context", "skipped", "body"])
    for each in entries:
        skipped = "true" if each.left_out else "false"
        text = each.left_out or each.body
        writer.writerow([each.docid, each.file, each.title, each.context or "", skipped, text])
    return stream.getvalue()


def _as_markdown(entries: list[Entry]) -> str:
    return "".join(
        f"## {each.file}\n\n**docid:** `{each.docid}`\n\n**Title:** {each.title}\n\n"
        + (f"**Context:** {each.context}\n\n" if each.context else "")
        + (f"> {each.left_out}\n\n" if each.left_out else f"{_fenced(each.body)}\n\n")
        for each in entries
    )


def _fenced(text: str) -> str:
    """The text in a fence that is longer than any in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def _as_xml(entries: list[Entry]) -> str:
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<documents>"]
    for each in entries:
        lines.append(f'  <document docid="{each.docid}">')
        shown = {"file": each.file, "title": each.title, "context": each.context}
        shown |= {"skipped": "true", "reason": each.left_out} if each.left_out else {"body": each.body}
        lines += [f"    <{name}>{escaped(text)}</{name}>" for name, text in shown.items() if text is not None]
        lines.append("  </document>")
    return "\n".join([*lines, "</documents>", ""])


def _as_text(entries: list[Entry]) -> str:
    parts = []
    for each in entries:
        context = f"Folder Context: {each.context}\n---\n\n" if each.context else ""
        text = f"[SKIPPED: {each.left_out}]" if each.left_out else f"{context}{each.body}"
        parts.append(f"\n{RULE}\nFile: {each.uri}  {each.docid}\n{RULE}\n\n{text}\n")
    return "".join(parts)


_WRITERS: dict[str, Callable[[list[Entry]], str]] = {
    "cli": _as_text,
    "json": _as_json,
    "csv": _as_csv,
    "md": _as_markdown,
    "xml": _as_xml,
    "files": _as_files,
}
