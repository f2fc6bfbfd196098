"""The MCP tools on memory: `recall` and `explain`, by the engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi_rank.block.lines import recalled_line
from pi_rank.block.neutral import neutralise, neutralise_id
from pi_rank.context import SessionContext
from pi_rank.memory.root import find_memory_root
from pi_rank.qmd.config import MEMORY
from pi_rank.qmd.errors import QmdError
from pi_rank.qmd.mcp.values import ToolAnswer, folder_of, limit_of, text_of
from pi_rank.results import hit_to_dict

if TYPE_CHECKING:
    from pi_rank.qmd.search.library import Library
    from pi_rank.qmd.warm.warm import Warm


MODES = ("hybrid", "lexical", "semantic")


def recall(warm: Warm, library: Library, arguments: dict[str, Any]) -> ToolAnswer:
    """Records for a question, with the rank that each source gave them.

    Of every place, where the arguments name none.
    """
    query = text_of(arguments, "query")
    where = _folder(arguments)
    mode: Any = arguments.get("mode", "hybrid")
    if mode not in MODES:
        raise QmdError(f"'mode' must be one of {', '.join(MODES)}")
    engine = warm.engine(_memory_root(library, arguments, where))
    context = _turn(query, where) if where else None
    hits = engine.search(query, k=limit_of(arguments, 10), mode=mode, context=context)
    text = "\n".join(recalled_line(hit.record) for hit in hits) or "No record matches."
    return ToolAnswer(text, {"results": [hit_to_dict(hit) for hit in hits]})


def explain(warm: Warm, folder: str | None, library: Library, arguments: dict[str, Any]) -> ToolAnswer:
    """One turn of a prompt: its block, and each record left out with the reason.

    :param folder: where a prompt is asked that names no place.
    """
    prompt = text_of(arguments, "prompt")
    where = _folder(arguments) or folder
    engine = warm.engine(_memory_root(library, arguments, where))
    turn = engine.build_retrieval_context(_turn(prompt, where))
    let_in = [
        f"let in by {trace.processor}: {neutralise_id(record_id)} ({neutralise(reason)})"
        for trace in turn.traces
        for record_id, reason in trace.admission_reasons.items()
    ]
    left_out = [
        f"left out by {trace.processor}: {neutralise_id(record_id)} ({neutralise(reason)})"
        for trace in turn.traces
        for record_id, reason in trace.exclusion_reasons.items()
    ]
    return ToolAnswer("\n".join([turn.markdown, *left_out, *let_in]), turn.to_dict())


def _folder(arguments: dict[str, Any]) -> str | None:
    return folder_of(arguments, "workingDirectory")


def _turn(prompt: str, folder: str | None) -> SessionContext:
    return SessionContext(latest_user_message=prompt, working_directory=folder)


def _memory_root(library: Library, arguments: dict[str, Any], folder: str | None) -> Path:
    """The memory root to ask: the named collection's, the first memory collection's, or PI's own."""
    name = arguments.get("collection")
    if name:
        named = library.config.collection(str(name))
        if named.kind != MEMORY:
            raise QmdError(f"{named.name} is no memory collection")
        return Path(named.path)
    known = [each for each in library.config.collections.values() if each.kind == MEMORY]
    return Path(known[0].path) if known else find_memory_root(None, folder)
