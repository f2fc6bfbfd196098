"""`get` and `ls`: documents as they are indexed."""

from __future__ import annotations

import time

from pi_rank.qmd.commands.call import Call
from pi_rank.qmd.errors import QmdError
from pi_rank.qmd.search import documents
from pi_rank.qmd.search.documents import asked, lines_of
from pi_rank.qmd.search.library import Library
from pi_rank.qmd.search.snippet import numbered


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
