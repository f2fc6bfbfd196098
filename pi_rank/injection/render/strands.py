"""Strands' own message dicts as its model providers take them: marks off, the operator's text set apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pi_rank.injection.history.live import may_hold_marks
from pi_rank.injection.history.messages import Block, blocks_of
from pi_rank.injection.render.boundaries import at_boundaries
from pi_rank.injection.render.plain import plain_parts
from pi_rank.injection.render.rules import RenderRules
from pi_rank.injection.render.turns import OPERATOR, Apart, split_operator


def with_system_messages(messages: Sequence[Any], rules: RenderRules | None) -> list[Any]:
    """The messages of a call without marks; what is in them is the caller's own.

    Operator's text becomes a `system` message where the model takes one, as `render` makes it; the SDK's
    formatters pass the role on.
    """
    sent: list[Any] = []
    apart = rules is not None and rules.system_messages
    for message in messages:
        ready = plain_parts(message, "strands")
        if ready is not None:
            sent.append({**message, "content": ready})
            continue
        if not may_hold_marks(message):
            sent.append(message)
            continue
        blocks = blocks_of(message, "strands")
        operator: list[Block] = []
        if apart and any(b.mark is not None and b.mark.rendering in OPERATOR for b in blocks):
            blocks, operator = split_operator(blocks, Apart(text=True))
            content = [{"text": b.text} if b.kind == "text" else _bare(b.raw) for b in blocks]
        else:
            content = [_bare(part) for part in message["content"]]
        sent.append({**message, "content": content})
        if operator:
            sent.append({"role": "system", "content": [{"text": b.text.lstrip("\n")} for b in operator]})
    return at_boundaries(sent, {})


def _bare(part: Any) -> Any:  # noqa: ANN401
    return (
        {key: value for key, value in part.items() if key != "metadata"} if isinstance(part, dict) else part
    )
