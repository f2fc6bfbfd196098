"""Search results as text, in qmd's six formats."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One result as it is shown. `docid` is None with `--full-path`; `extra` are keys of ours, at the end."""

    docid: str | None
    score: float
    file: str
    line: int
    title: str
    context: str | None
    snippet: str
    body: str | None = None
    explain: dict[str, Any] | None = None
    extra: dict[str, Any] = {}  # noqa: RUF012  (never changed in place)


def as_json(rows: Sequence[Row]) -> str:
    """A JSON array, two spaces to a level."""
    return dump([json_row(row) for row in rows])


def as_results(rows: Sequence[Row]) -> str:
    """PI's shape: a JSON object whose first key is `results`, with `path` first in each row."""
    return dump({"results": [{**row.extra, **json_row(row)} for row in rows]})


def as_csv(rows: Sequence[Row]) -> str:
    """Comma-separated values with a header."""
    lines = ["docid,score,file,title,context,line,snippet"]
    for row in rows:
        cells = [row.docid or "", f"{row.score:.4f}", row.file, row.title, row.context or "", str(row.line)]
        lines.append(",".join(_csv_cell(cell) for cell in [*cells, _text(row)]))
    return "\n".join(lines) + "\n"


def as_markdown(rows: Sequence[Row]) -> str:
    """A section for each result."""
    return "".join(_markdown_section(row) for row in rows)


def as_xml(rows: Sequence[Row]) -> str:
    """A `<file>` element for each result, all special characters escaped."""
    if not rows:
        return "<results></results>\n"
    return "\n".join(_xml_element(row) for row in rows) + "\n"


def as_files(rows: Sequence[Row]) -> str:
    """One line for each result: document id, score, file, and its context in quotes."""
    lines = []
    for row in rows:
        context = f',"{doubled(row.context)}"' if row.context else ""
        lines.append(f"{row.docid or ''},{row.score:.2f},{row.file}{context}\n")
    return "".join(lines)


def as_text(rows: Sequence[Row]) -> str:
    """For reading at a terminal."""
    if not rows:
        return "No results found.\n"
    return "\n\n".join(_text_section(row) for row in rows)


FORMATS: dict[str, Callable[[Sequence[Row]], str]] = {
    "cli": as_text,
    "json": as_json,
    "csv": as_csv,
    "md": as_markdown,
    "xml": as_xml,
    "files": as_files,
}


def dump(value: Any) -> str:  # noqa: ANN401
    """JSON for people and programs; a lone surrogate, which no UTF-8 can carry, is written as an escape."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return text.encode("utf-8", "backslashreplace").decode() + "\n"


def json_row(row: Row) -> dict[str, Any]:
    """The row's members in qmd's order; what a row does not have is left out."""
    members: dict[str, Any] = {
        "docid": row.docid,
        "score": rounded(row.score),
        "file": row.file,
        "line": row.line,
        "title": row.title,
        "context": row.context,
        "body" if row.body is not None else "snippet": row.snippet if row.body is None else row.body,
        "explain": row.explain,
    }
    return {key: value for key, value in members.items() if value is not None} | row.extra


def rounded(score: float) -> float | int:
    """Two decimals; a whole number without any, as JavaScript writes it."""
    value = round(score, 2)
    return int(value) if value == int(value) else value


def _text(row: Row) -> str:
    return row.snippet if row.body is None else row.body


def _csv_cell(text: str) -> str:
    return f'"{doubled(text)}"' if any(mark in text for mark in ',"\n\r') else text


def doubled(text: str | None) -> str:
    """The text with its quotes doubled, as CSV writes them."""
    return (text or "").replace('"', '""')


def _markdown_section(row: Row) -> str:
    docid = f"**docid:** `{row.docid}`\n" if row.docid else ""
    context = f"**context:** {row.context}\n" if row.context else ""
    return f"---\n# {row.title}\n**file:** `{row.file}`\n{docid}{context}\n{_text(row)}\n\n"


def _xml_element(row: Row) -> str:
    context = f' context="{escaped(row.context)}"' if row.context else ""
    docid = f' docid="{row.docid}"' if row.docid else ""
    names = f'{docid} name="{escaped(row.file)}" title="{escaped(row.title)}"'
    return f"<file{names}{context}>\n{escaped(_text(row))}\n</file>\n"


def escaped(text: str) -> str:
    """The text for XML; characters that XML has no way to write become U+FFFD."""
    clean = "".join(
        c if c in "\t\n\r" or (c >= " " and not "\ud800" <= c <= "\udfff") else "\ufffd" for c in text
    )
    return clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _text_section(row: Row) -> str:
    docid = f" {row.docid}" if row.docid else ""
    context = f"Context: {row.context}\n" if row.context else ""
    lines = (
        f"{row.file}:{row.line}{docid}\nTitle: {row.title}\n{context}Score: {round(row.score * 100):>3}%\n\n"
    )
    return f"{lines}{_text(row)}\n"
