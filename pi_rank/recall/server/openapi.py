"""The OpenAPI 3.1 document of the server, as it is served at /openapi.json."""

from __future__ import annotations

from typing import Any

from pi_rank.version import __version__

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_ANYTHING: dict[str, Any] = {"type": "object"}
_NULLABLE_TEXT = {"type": ["string", "null"]}
_TEXTS = {"type": "array", "items": _TEXT}
_CONTEXT = {
    "type": "object",
    "required": ["latest_user_message"],
    "properties": {
        "latest_user_message": _TEXT,
        **dict.fromkeys(
            (
                "resource_id",
                "profile_id",
                "thread_id",
                "project_root",
                "repository_id",
                "working_directory",
                "first_user_message",
                "task_intent",
                "reader",
            ),
            _NULLABLE_TEXT,
        ),
        "recent_files_touched": _TEXTS,
        "detected_domain_tags": _TEXTS,
    },
}
_ROW = {
    "type": "object",
    "required": ["name", "score", "snippet", "type"],
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "score": {"type": "number"},
        "relevance": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "snippet": {"type": "string", "minLength": 1, "maxLength": 1200},
        "type": {"type": "string", "minLength": 1},
        "id": _TEXT,
        "layer": {"enum": ["L1", "L2", "L3"]},
        "rule_type": _NULLABLE_TEXT,
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "status": _TEXT,
        "presentation": {"enum": ["validated", "boundary", "refuted"]},
        "updated_at": _NULLABLE_TEXT,
        "staleness": _TEXT,
        "evidence": _TEXTS,
        "sources": {"type": "array", "items": _ANYTHING},
    },
}


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": {**required, **(optional or {})}}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _operation(
    summary: str, answer: dict[str, Any], body: dict[str, Any] | None = None, *, missing: bool = False
) -> dict[str, Any]:
    """One operation behind the gate, with the errors that any of them can give."""
    errors = ["401", "403", "429", "431", "500", "503"]
    errors += ["400", "408", "411", "413", "415"] if body else ["404"] if missing else []
    operation: dict[str, Any] = {
        "summary": summary,
        "responses": {
            "200": {"description": "Done.", "content": answer},
            **{status: {"$ref": "#/components/responses/Error"} for status in errors},
        },
    }
    if body is not None:
        operation["requestBody"] = {"required": True, "content": _json(body)}
    return operation


_TURN = _object({"context": _CONTEXT}, {"max_bytes": {"type": "integer", "minimum": 0, "maximum": 1_000_000}})
_RECALL = _object(
    {"query": {"type": "string", "minLength": 1}},
    {"top_k": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5}},
)
_RECALLED = _object(
    {
        "query": _TEXT,
        "results": {"type": "array", "maxItems": 20, "items": _ROW},
        "entities": {"type": "array", "maxItems": 10, "items": _TEXT},
        "novelty": {"type": "number", "minimum": 0, "maximum": 1},
    }
)
_REMEMBER = _object(
    {"content": {"type": "string", "minLength": 1, "maxLength": 65_536, "pattern": r"\S"}},
    {"trigger": {"type": ["string", "null"], "maxLength": 65_536}},
)
_SEARCH = _object(
    {"query": {"type": "string", "minLength": 1}},
    {
        "k": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
        "mode": {"enum": ["hybrid", "lexical", "semantic"]},
        "context": {"anyOf": [_CONTEXT, {"type": "null"}]},
    },
)
_OK = {"const": "ok"}
_STATE = {"enum": ["ok", "degraded"]}

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "pi_rank recall", "version": __version__},
    "security": [{"bearer": []}, {}],
    "paths": {
        "/recall": {
            "post": _operation("What memory holds for a query, best first.", _json(_RECALLED), _RECALL)
        },
        "/remember": {
            "post": _operation(
                "Store a note.",
                _json(_object({"status": _OK, "stored": {**_TEXT, "maxLength": 80}, "id": _TEXT})),
                _REMEMBER,
            )
        },
        "/remember/{id}": {
            "delete": {
                **_operation(
                    "Take a note back, with those that say the same.",
                    _json(_object({"status": _OK, "forgotten": _COUNT})),
                    missing=True,
                ),
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": _TEXT}],
            }
        },
        "/consolidate": {
            "post": _operation(
                "Merge notes that say the same.",
                _json(_object({"status": _OK, "new_memories": _COUNT})),
                _object({}, {"force": {"type": "boolean", "default": False}}),
            )
        },
        "/context": {"post": _operation("The context block for a turn.", _json(_ANYTHING), _TURN)},
        "/explain": {"post": _operation("A turn, with what was left out and why.", _json(_ANYTHING), _TURN)},
        "/search": {"post": _operation("Ranked records with their sources.", _json(_ANYTHING), _SEARCH)},
        "/status": {"get": _operation("What the server holds.", _json(_object({"status": _STATE})))},
        "/metrics": {
            "get": _operation("Counters for Prometheus.", {"text/plain": {"schema": {"type": "string"}}})
        },
        "/openapi.json": {"get": _operation("This document.", _json(_ANYTHING))},
        "/health": {
            "get": {
                "summary": "A sign of life.",
                "security": [],
                "responses": {
                    "200": {
                        "description": "The server is up.",
                        "content": _json(_object({"status": _STATE, "timestamp": {"type": "number"}})),
                    }
                },
            }
        },
    },
    "components": {
        "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        "responses": {
            "Error": {
                "description": "The request was refused, and why.",
                "content": _json(_object({"error": _TEXT})),
            }
        },
    },
}
