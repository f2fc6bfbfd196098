"""Participants of a conversation, one turn at a time, and the wrapper that gives each turn what memory
holds.
"""

from __future__ import annotations

import asyncio
import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypedDict

from pi_rank.recall.participants.fence import render_hits, render_unavailable
from pi_rank.recall.types import MemoryPolicy, MemoryRecall, RecallUnavailableError

RESULT_KIND = "participant.turn_result"
Channel = Literal["mcp", "api", "headless", "pty"]


@dataclass(frozen=True)
class TurnRequest:
    """One turn: the prompt is the user's; the context is framing and what others said, as data."""

    topic_id: str
    prompt: str
    context: str = ""
    resume_session: str = ""
    model: str = ""


class TurnResult(TypedDict):
    """What a participant made of a turn. Costs are in US dollars."""

    kind: str
    participant: str
    channel: str
    topic_id: str
    answer: str
    rationale: str
    abstained: bool
    is_error: bool
    reason: str
    session: str
    cost_usd: float
    stop_reason: str
    model: str
    input_tokens: int
    output_tokens: int
    rate_limit_utilisation: float | None


@dataclass(frozen=True)
class ParticipantHealth:
    """Whether a participant could take a turn now, as far as can be told without one."""

    identity: str
    channel: str
    available: bool
    detail: str


class Participant(Protocol):
    """Anybody who can take a turn."""

    @property
    def identity(self) -> str:
        """A name that is its own in a conversation."""
        ...

    @property
    def channel(self) -> Any:  # noqa: ANN401  (SYNAPSE's is an enumeration of strings)
        """How it is reached: mcp, api, headless or pty."""
        ...

    async def take_turn(self, request: Any) -> Any:  # noqa: ANN401  (SYNAPSE's types have our fields)
        """One answer to a `TurnRequest`, as a `TurnResult`."""
        ...

    def health(self) -> Any:  # noqa: ANN401
        """A `ParticipantHealth`."""
        ...


@dataclass(frozen=True)
class MemoryAugmentedParticipant:
    """A participant whose turns come with what memory holds for the prompt, fenced as data.

    Memory is asked once a turn, for the prompt alone. Where it fails or is late, the turn goes on and says
    so.
    """

    participant: Participant
    recall: MemoryRecall
    policy: MemoryPolicy = field(default_factory=MemoryPolicy)
    source_label: str = "REMANENTIA"

    @property
    def identity(self) -> str:
        """The inner participant's."""
        return self.participant.identity

    @property
    def channel(self) -> Any:  # noqa: ANN401
        """The inner participant's."""
        return self.participant.channel

    def health(self) -> Any:  # noqa: ANN401
        """The inner participant's; memory is not asked."""
        return self.participant.health()

    async def take_turn(self, request: Any) -> Any:  # noqa: ANN401
        """The inner participant's turn, its context followed by the block of memory.

        :raises asyncio.CancelledError: cancelled while memory was asked; the inner participant is not called.
        """
        block = await self._block(request.prompt)
        context = f"{request.context}\n\n{block}" if request.context else block
        return await self.participant.take_turn(dataclasses.replace(request, context=context))

    async def _block(self, prompt: str) -> str:
        policy = self.policy
        try:
            result = await _in_time(self.recall.recall(prompt, top_k=policy.top_k), policy.timeout_seconds)
            if result.query != prompt:
                raise RecallUnavailableError
            return render_hits(
                result, service=self.source_label, max_hits=policy.top_k, max_chars=policy.max_chars
            )
        except Exception:  # of anybody's memory: whatever it is, the turn goes on without it
            return render_unavailable(service=self.source_label, max_chars=policy.max_chars)


async def _in_time(work: Any, seconds: float) -> Any:  # noqa: ANN401
    """The result of a coroutine, or TimeoutError; one that will not be cancelled is not waited for."""
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    finally:
        if not task.done():
            task.add_done_callback(_forget)
            task.cancel()
    if not done:
        raise TimeoutError
    return task.result()


def _forget(task: asyncio.Task[Any]) -> None:
    """Look at the outcome of a task that nobody waits for, or asyncio complains that nobody did."""
    if not task.cancelled():
        task.exception()


def turn_result(
    participant: str,
    channel: str,
    request: Any,  # noqa: ANN401
    *,
    answer: str = "",
    reason: str = "",
    is_error: bool = False,
    abstained: bool = False,
) -> TurnResult:
    """A result of a participant that knows nothing of tokens and costs."""
    return TurnResult(
        kind=RESULT_KIND,
        participant=participant,
        channel=channel,
        topic_id=request.topic_id,
        answer=answer,
        rationale="",
        abstained=abstained,
        is_error=is_error,
        reason=reason,
        session="",
        cost_usd=0.0,
        stop_reason="error" if is_error else "end_turn",
        model=request.model,
        input_tokens=0,
        output_tokens=0,
        rate_limit_utilisation=None,
    )
