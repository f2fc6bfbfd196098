"""What an injection did: written or not, why, and what it cost and saved."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Outcome = Literal["written", "already_written", "nothing_new", "no_user_message", "refused"]


class InjectionResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one `inject`.

    `outgoing` is what to send: the caller's own list in `persist` mode, a copy with the text added in
    `per_call` mode. `bytes` and `tokens` are those of the text added by this call (tokens are an estimate),
    `bytes_saved` and `tokens_saved` what the full block would have added on top. `prefix_breaking` means that
    the next request cannot have this one as its prefix. `texts` are the outcomes of an injector's own texts,
    which are written before the memory.
    """

    outcome: Outcome
    source: str
    reason: str = ""
    block_id: str = ""
    text: str = ""
    record_ids: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    bytes: int = 0
    bytes_saved: int = 0
    tokens: int = 0
    tokens_saved: int = 0
    message_index: int = -1
    tracking_id: str = ""
    prefix_breaking: bool = False
    outgoing: list[Any] = []
    texts: tuple[InjectionResult, ...] = ()

    @property
    def wrote(self) -> bool:
        """Whether text was added, of the memory or of one of the injector's own texts."""
        return self.outcome == "written" or any(text.outcome == "written" for text in self.texts)

    def __str__(self) -> str:
        return f"{self.outcome}: {self.reason}" if self.reason else self.outcome

    def telemetry(self) -> dict[str, Any]:
        """What a span or log line may carry: identity and size, never the text."""
        return {
            "injection.outcome": self.outcome,
            "injection.source": self.source,
            "injection.block_id": self.block_id,
            "injection.bytes": self.bytes,
            "injection.record_ids": list(self.record_ids),
        }
