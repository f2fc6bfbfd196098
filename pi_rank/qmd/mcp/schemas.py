"""The MCP tools' names, descriptions and input schemas: qmd's four, and two of ours."""

from __future__ import annotations

from typing import Any

QUERY = """\
Search the collections by words and by meaning.

Pass `query` for a plain question, or `searches` for typed sub-queries (the first has twice the weight):
- lex: words that must all occur, as beginnings; "phrases" verbatim; -word and -"phrase" exclude
- vec: a question, matched by meaning
- hyde: a passage of 50 to 100 words such as the answer would be

Each result has the 1-based `line` of the best match: `get` with `fromLine` a little before it shows more.
A score of 1 is the best that a document could have; it is comparable between collections."""
_LINES = (
    "A range may follow: 'file.md:100' starts at line 100, 'file.md:100:40' or '#abc123:100:40' has 40 lines."
)


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def _field(kind: str, description: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"type": kind, "description": description, **more}


_SEARCHES = {
    "type": "array",
    "maxItems": 10,
    "description": "Typed sub-queries; the first has twice the weight. Not together with 'query'.",
    "items": _object(
        {
            "type": {"type": "string", "enum": ["lex", "vec", "hyde"], "description": "How to match."},
            "query": _field("string", "The words, the question or the passage."),
        },
        ["type", "query"],
    ),
}
_LINE_NUMBERS = _field("boolean", "Put 'N: ' before each line.", default=True)

TOOLS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "query": (
        "Query",
        QUERY,
        _object(
            {
                "query": _field("string", "A plain question. Not together with 'searches'."),
                "searches": _SEARCHES,
                "limit": _field("number", "Most results.", default=10),
                "minScore": _field("number", "Least score, 0 to 1.", default=0),
                "candidateLimit": _field("number", "Accepted for qmd's clients; nothing is reranked here."),
                "collections": _field("array", "Only these collections.", items={"type": "string"}),
                "intent": _field(
                    "string", "What the search is for; places the snippet, does not search by itself."
                ),
                "rerank": _field(
                    "boolean", "Accepted for qmd's clients; nothing is reranked here.", default=True
                ),
            },
            [],
        ),
    ),
    "get": (
        "Get Document",
        f"One document by its path or docid from search results. {_LINES}",
        _object(
            {
                "file": _field("string", f"Path or docid. {_LINES}"),
                "fromLine": _field("number", "First line, from 1."),
                "maxLines": _field("number", "Most lines."),
                "lineNumbers": _LINE_NUMBERS,
            },
            ["file"],
        ),
    ),
    "multi_get": (
        "Multi-Get Documents",
        "Several documents by a glob, or by a list of paths and docids with commas.",
        _object(
            {
                "pattern": _field("string", "Glob, docid, or a list with commas."),
                "maxLines": _field("number", "Most lines of each."),
                "maxBytes": _field("number", "Leave out larger files.", default=65536),
                "lineNumbers": _LINE_NUMBERS,
            },
            ["pattern"],
        ),
    ),
    "status": (
        "Index Status",
        "Collections, how many documents they have, and what is embedded.",
        _object({}, []),
    ),
    "recall": (
        "Recall Memory",
        "Memory records for a question, best first, with where each rank comes from. "
        "With `workingDirectory`, only what applies there (status, profile, project, negative scope).",
        _object(
            {
                "query": _field("string", "The question."),
                "limit": _field("number", "Most records.", default=10),
                "mode": {"type": "string", "enum": ["hybrid", "lexical", "semantic"], "default": "hybrid"},
                "workingDirectory": _field("string", "Where the question is asked."),
                "collection": _field(
                    "string", "A memory collection; by default the first one, else PI's own root."
                ),
            },
            ["query"],
        ),
    ),
    "explain": (
        "Explain Memory",
        "One turn of a prompt: what would be injected, and which records were left out and why.",
        _object(
            {
                "prompt": _field("string", "The user's message."),
                "workingDirectory": _field(
                    "string",
                    "Where it is asked; over stdio by default the folder this server was started in.",
                ),
                "collection": _field(
                    "string", "A memory collection; by default the first one, else PI's own root."
                ),
            },
            ["prompt"],
        ),
    ),
}
