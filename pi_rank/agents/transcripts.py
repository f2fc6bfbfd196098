"""The blocks of ours in a session's file, as far as the model can still read them.

Only where the agent itself keeps a hook's text is looked at: what a user or a tool says cannot pass for a
block. What came before a compaction is gone, and so is a branch of the conversation that was left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from pi_rank.agents.hosts import CLAUDE_CODE, CODEX, GEMINI_CLI
from pi_rank.agents.shown import is_ours
from pi_rank.files.foreign import end_of_foreign

# Of a longer session the end is read: what is not found is written once more.
MAX_TRANSCRIPT_BYTES = 16 << 20

Entry = dict[str, Any]


def blocks_in(agent: str, path: str) -> list[str]:
    """The texts of our blocks in the session file of an agent, oldest first.

    None where there is no such file.
    """
    reader = _READERS.get(agent)
    if reader is None or not path:
        return []
    return [text for text in reader(_entries(path)) if is_ours(text)]


def _entries(path: str) -> list[Entry]:
    """The file's JSON lines; one that is none, such as one that is being written, is left out."""
    found = []
    for line in _end_of(path).split(b"\n"):
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def _end_of(path: str) -> bytes:
    try:
        return end_of_foreign(path, MAX_TRANSCRIPT_BYTES)
    except OSError:  # no session yet, or none that can be read: the block is written whole
        return b""


def _of_claude_code(entries: list[Entry]) -> Iterator[str]:
    """Attachments of hooks on the way from the newest entry to the start, or to the last compaction."""
    by_id = {entry["uuid"]: entry for entry in entries if isinstance(entry.get("uuid"), str)}
    chain: list[Entry] = []
    here = next(
        (entry for entry in reversed(entries) if entry.get("uuid") in by_id and _is_main(entry)), None
    )
    while here is not None and here.get("subtype") != "compact_boundary":
        chain.append(by_id.pop(here["uuid"]))
        here = by_id.get(str(here.get("parentUuid")))
    if here is not None:
        chain += [by_id[each] for each in reversed(_preserved(here)) if each in by_id]
    for entry in reversed(chain):
        attachment = entry.get("attachment")
        if isinstance(attachment, dict) and attachment.get("type") == "hook_additional_context":
            yield from _strings(attachment.get("content"))


def _preserved(boundary: Entry) -> list[str]:
    """Ids of the entries that a compaction left as they were."""
    about = boundary.get("compactMetadata")
    kept = about.get("preservedMessages") if isinstance(about, dict) else None
    ids = kept.get("uuids") if isinstance(kept, dict) else None
    return [each for each in ids if isinstance(each, str)] if isinstance(ids, list) else []


def _is_main(entry: Entry) -> bool:
    return not entry.get("isSidechain")


def _of_codex(entries: list[Entry]) -> Iterator[str]:
    """Developer messages since the last compaction, and those that it kept.

    Turns that were rolled back are not there.
    """
    turns: list[list[str]] = [[]]
    for entry in entries:
        payload = entry.get("payload")
        if not isinstance(payload, dict):
            continue
        kind = payload.get("type")
        if entry.get("type") == "compacted":
            kept = payload.get("replacement_history")
            turns = [[text for item in kept for text in _developer(item)] if isinstance(kept, list) else []]
        elif entry.get("type") == "event_msg" and kind == "thread_rolled_back":
            count = payload.get("num_turns")
            turns = turns[: max(1, len(turns) - count)] if isinstance(count, int) else turns
        elif entry.get("type") == "event_msg" and kind == "task_started":
            turns.append([])
        elif entry.get("type") == "response_item":
            turns[-1] += _developer(payload)
    for texts in turns:
        yield from texts


def _developer(item: Any) -> list[str]:  # noqa: ANN401 - whatever stands in the file
    if not isinstance(item, dict) or item.get("role") != "developer":
        return []
    return list(_texts(item.get("content")))


def _of_gemini_cli(entries: list[Entry]) -> Iterator[str]:
    """`<hook_context>` parts of the user's messages."""
    for entry in entries:
        if entry.get("type") == "user":
            for text in _texts(entry.get("content")):
                if text.lstrip().startswith("<hook_context>"):
                    yield text


def _texts(parts: Any) -> Iterator[str]:  # noqa: ANN401
    for part in parts if isinstance(parts, list) else [parts]:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            yield text


def _strings(value: Any) -> Iterable[str]:  # noqa: ANN401
    return filter(lambda each: isinstance(each, str), value if isinstance(value, list) else [value])


_READERS: dict[str, Callable[[list[Entry]], Iterator[str]]] = {
    CLAUDE_CODE: _of_claude_code,
    CODEX: _of_codex,
    GEMINI_CLI: _of_gemini_cli,
}
