"""`get`, `multi-get` and `ls`: documents as they are indexed."""

from __future__ import annotations

import time

from pi_rank.qmd import documents
from pi_rank.qmd.call import Call
from pi_rank.qmd.documents import DEFAULT_MAX_BYTES, asked, cut_lines, lines_of
from pi_rank.qmd.errors import QmdError
from pi_rank.qmd.formats import dump, escaped
from pi_rank.qmd.found import StoredDocument
from pi_rank.qmd.library import Library
from pi_rank.qmd.snippet import numbered


def run_get(call: Call) -> int:
    """One document, or some lines of it."""
    if not call.words:
        raise QmdError("Usage: qmd get <filepath>[:from[:count]] [--from <line>] [-l <lines>]")
    text = " ".join(call.words)
    with call.library() as library:
        name, start, count = asked(text)
        document = documents.find(library, text) or documents.find(library, name)
        if document is None:
            raise QmdError(f"Document not found: {text}")
        start = call.arguments.number("from", start)
        count = call.arguments.number("lines", 0) or count
        shown = "\n".join(lines_of(library.text_of(document), start, count))
        context = library.config.context(document.collection, document.path)
    call.line(f"{document.uri}  {document.docid}")
    if context:
        call.line(f"Folder Context: {context}")
    call.line(f"---\n\n{shown if call.has('no_line_numbers') else numbered(shown, start)}")
    return 0


def run_multi_get(call: Call) -> int:
    """Several documents, by a pattern or a list."""
    if not call.words:
        raise QmdError("Usage: qmd multi-get <pattern> [-l <lines>] [--max-bytes <bytes>]")
    pattern = " ".join(call.words)
    with call.library() as library:
        chosen, missing = documents.select(library, pattern)
        if not chosen:
            raise QmdError(f"No files matched pattern: {pattern}")
        for name in missing:
            call.note(f"File not found: {name}")
        writer = {"json": _as_json, "files": _as_files, "csv": _as_csv, "md": _as_markdown, "xml": _as_xml}
        write = writer.get(call.arguments.format, _as_text)
        call.out(write(call, library, _small_enough(call, chosen)))
    return 0


def run_ls(call: Call) -> int:
    """The collections, or the files of one or of a folder in it."""
    with call.library() as library:
        if call.words:
            return _list_files(call, library, " ".join(call.words))
        if not library.config.collections:
            call.line("No collections found. Run 'qmd collection add .' to index files.")
            return 0
        call.line("Collections:\n")
        for each in library.config.collections.values():
            call.line(f"  {each.uri}  ({len(library.documents([each]))} files)")
    return 0


def _list_files(call: Call, library: Library, address: str) -> int:
    name, _, prefix = address.removeprefix("qmd://").partition("/")
    collection = library.config.collection(name)
    prefix = prefix.strip("/")
    found = [
        each
        for each in library.documents([collection])
        if not prefix or each.path == prefix or each.path.startswith(f"{prefix}/")
    ]
    sizes = [human_size(each.size) for each in found]
    width = max(map(len, sizes), default=0)
    for each, size in zip(found, sizes, strict=True):
        call.line(
            f"{size:>{width}}  {time.strftime('%b %e %H:%M', time.localtime(each.modified))}  {each.uri}"
        )
    if not found:
        call.line(f"No files found under {collection.uri}{prefix}")
    return 0


def human_size(size: float) -> str:
    """Bytes for people: 185 B, 1.2 KB, 3.4 MB."""
    for unit in ("B", "KB", "MB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GB"


def _small_enough(call: Call, chosen: list[StoredDocument]) -> list[StoredDocument]:
    most = call.arguments.number("max_bytes", DEFAULT_MAX_BYTES)
    for each in chosen:
        if each.size > most:
            call.note(f"Skipped {each.uri}: {human_size(each.size)}, more than --max-bytes {most}")
    return [each for each in chosen if each.size <= most]


def _body(call: Call, library: Library, document: StoredDocument) -> str:
    most = call.arguments.number("lines", 0) or None
    text = cut_lines(library.text_of(document), most)
    return text if call.has("no_line_numbers") else numbered(text)


def _as_json(call: Call, library: Library, chosen: list[StoredDocument]) -> str:
    rows = []
    for each in chosen:
        context = library.config.context(each.collection, each.path)
        row = {"file": each.path, "docid": each.docid, "title": each.title, "context": context}
        row["body"] = _body(call, library, each)
        rows.append({key: value for key, value in row.items() if value is not None})
    return dump(rows)


def _as_files(call: Call, library: Library, chosen: list[StoredDocument]) -> str:
    lines = []
    for each in chosen:
        context = library.config.context(each.collection, each.path)
        quoted = context.replace('"', '""') if context else ""
        lines.append(f"{each.docid},{each.uri}" + (f',"{quoted}"' if quoted else "") + "\n")
    return "".join(lines)


def _as_csv(call: Call, library: Library, chosen: list[StoredDocument]) -> str:
    import csv
    import io

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["docid", "file", "title", "context", "body"])
    for each in chosen:
        context = library.config.context(each.collection, each.path) or ""
        writer.writerow([each.docid, each.uri, each.title, context, _body(call, library, each)])
    return stream.getvalue()


def _as_markdown(call: Call, library: Library, chosen: list[StoredDocument]) -> str:
    return "".join(
        f"---\n# {each.title}\n**file:** `{each.uri}`\n**docid:** `{each.docid}`\n\n"
        f"{_body(call, library, each)}\n\n"
        for each in chosen
    )


def _as_xml(call: Call, library: Library, chosen: list[StoredDocument]) -> str:
    elements = (
        f'<file docid="{each.docid}" name="{escaped(each.uri)}" title="{escaped(each.title)}">\n'
        f"{escaped(_body(call, library, each))}\n</file>\n"
        for each in chosen
    )
    return "\n".join(elements)


def _as_text(call: Call, library: Library, chosen: list[StoredDocument]) -> str:
    return "\n".join(f"{each.uri}  {each.docid}\n---\n\n{_body(call, library, each)}\n" for each in chosen)
