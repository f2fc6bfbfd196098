"""An answer in the form that each agent, or our extension in it, reads from a hook's standard output."""

from __future__ import annotations

from typing import Any

import msgspec

from pi_rank.agents.event import Event
from pi_rank.agents.hosts import OPENCODE, PI, Host
from pi_rank.agents.recall import Answer
from pi_rank.results import CUSTOM_TYPE


def in_form(answer: Answer, event: Event, host: Host) -> bytes:
    """One line of JSON, or nothing at all where there is nothing to say."""
    if not answer.text:
        return b""
    return msgspec.json.encode(_form(answer, event, host)) + b"\n"


def _form(answer: Answer, event: Event, host: Host) -> dict[str, Any]:
    details = {
        "why": answer.why,
        "withdrawn": answer.withdrawn,
        "bytes": len(answer.text.encode()),
    }
    if host.name == PI:
        return {"customType": CUSTOM_TYPE, "content": answer.text, "display": False, "details": details}
    if host.name == OPENCODE:
        return {"text": answer.text, "metadata": {"source": "pi-rank", **details}}
    return {"hookSpecificOutput": {"hookEventName": event.hook_event_name, "additionalContext": answer.text}}
