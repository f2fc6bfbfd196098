"""A hook's event as the agent wrote it: only what is needed of it, each field checked."""

from __future__ import annotations

from typing import Any

import msgspec

from pi_rank.agents.hosts import OPENCODE, Host
from pi_rank.errors import ContextError

MAX_EVENT_BYTES = 16 << 20
# A pasted log is no question: what is asked stands at the beginning or at the end of it.
MAX_PROMPT_CHARS = 16_000


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent tells its hook. `blocks`: earlier blocks, where a plugin of ours found them itself."""

    hook_event_name: str
    prompt: str = ""
    cwd: str = ""
    transcript_path: str = ""
    blocks: tuple[str, ...] = ()


def read_event(data: bytes, host: Host) -> Event:
    """The event in a hook's standard input; a field that is missing, or of another type, is empty.

    :raises ContextError: it is no event: no JSON object, too long, or without a name.
    """
    if len(data) > MAX_EVENT_BYTES:
        raise ContextError(f"the event has {len(data):,} bytes; a hook reads {MAX_EVENT_BYTES:,} at most")
    try:
        value = msgspec.json.decode(data.decode("utf-8-sig", "replace"))
    except (msgspec.DecodeError, RecursionError) as error:
        raise ContextError(f"the event is not JSON: {error}") from None
    if not isinstance(value, dict) or not isinstance(value.get("hook_event_name"), str):
        raise ContextError("the event is no object with a hook_event_name")
    blocks = value.get("blocks")
    return Event(
        hook_event_name=value["hook_event_name"],
        prompt=_asked(_text(value, "prompt"), host),
        cwd=_text(value, "cwd"),
        transcript_path=_text(value, "transcript_path"),
        blocks=tuple(each for each in blocks if isinstance(each, str)) if isinstance(blocks, list) else (),
    )


def _text(value: dict[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _asked(prompt: str, host: Host) -> str:
    # `opencode run` puts a prompt of several words into quotation marks.
    if host.name == OPENCODE and len(prompt) > 1 and prompt[0] == prompt[-1] == '"':
        prompt = prompt[1:-1]
    if len(prompt) <= MAX_PROMPT_CHARS:
        return prompt
    half = MAX_PROMPT_CHARS // 2
    return f"{prompt[:half]}\n{prompt[-half:]}"
