"""One call of an injector: the conversation, who asks, how, and what may not be written at all."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from pi_rank.errors import ContextError
from pi_rank.injection.history.dialects import Dialect
from pi_rank.injection.history.marks import RENDERINGS, Rendering
from pi_rank.injection.history.messages import RawMessage
from pi_rank.injection.result import InjectionResult, Outcome
from pi_rank.injection.target import Target, Trigger, find_target
from pi_rank.results import RetrievalContext

Content = str | RetrievalContext | None
Mode = Literal["persist", "per_call"]
Secrets = Literal["mask", "refuse"]
MAX_BYTES = 65_536


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `write.inject`, checked.

    `tools` is what the block changes about tools (`injection.tools`), as its mark keeps it.
    """

    messages: list[RawMessage]
    source: str
    dialect: Dialect
    mode: Mode = "persist"
    trigger: Trigger = "user_turn"
    rendering: Rendering = "text"
    operator_text: bool = False
    secrets: Secrets = "mask"
    server_state: bool = False
    max_bytes: int = MAX_BYTES
    repeat_rules_after: int = 0
    tools: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.source, str) or not self.source:
            raise ContextError("source must be a name: it tells one injector's blocks from another's")
        for name, value, known in (
            ("mode", self.mode, ("persist", "per_call")),
            ("trigger", self.trigger, ("user_turn", "every_turn")),
            ("rendering", self.rendering, RENDERINGS),
            ("secrets", self.secrets, ("mask", "refuse")),
        ):
            if value not in known:
                raise ContextError(f"{name}={value!r} is unknown: use one of {', '.join(known)}")

    def target(self) -> Target:
        """The message to write to, or why there is none."""
        stored = self.mode == "persist"
        return find_target(self.messages, self.source, self.dialect, trigger=self.trigger, stored=stored)

    def closed(self, content: object) -> InjectionResult | None:
        """The outcome where nothing may be written, whatever there is to say; None where something may."""
        if refusal := self._refusal(content):
            return self.outcome("refused", refusal)
        target = self.target()
        return target.outcome and self.outcome(target.outcome, target.reason, target.index)

    def outcome(self, outcome: Outcome, reason: str, index: int = -1) -> InjectionResult:
        """A result of nothing written."""
        return InjectionResult(
            outcome=outcome, reason=reason, source=self.source, message_index=index, outgoing=self.messages
        )

    def _refusal(self, content: object) -> str:
        if self.mode == "per_call" and self.server_state:
            return "the server keeps this conversation, and with it every text sent; use mode='persist'"
        if self.rendering == "text":
            return ""
        if isinstance(content, RetrievalContext):
            return f"recalled memory is untrusted and stays user text, not {self.rendering}"
        if not self.operator_text:
            return (
                f"rendering={self.rendering!r} is for text the operator wrote; pass operator_text=True if so"
            )
        return ""
