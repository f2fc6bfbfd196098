"""OpenAI Agents SDK: a RunConfig under which memory is stored with the session and sent from there.

    config = run_config(Injector(engine))
    result = await Runner.run(agent, "…", session=session, run_config=config)

The session stores the user's item with the block. The SDK offers no other place to store it: without a
session, call `await injector.ainject(items)` on your own list of items before each run, and pass that list
and
this config; a run that has neither warns. A conversation that the server keeps (`conversation_id`,
`previous_response_id`) takes no session; use the same way.
"""

from __future__ import annotations

import inspect
import warnings
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from pi_rank.errors import ContextError
from pi_rank.injection.adapters import missing
from pi_rank.injection.history.live import may_hold_marks
from pi_rank.injection.history.messages import role_of
from pi_rank.injection.injector import Injector
from pi_rank.injection.render import RenderRules, render
from pi_rank.injection.render.portable import without_own_keys

try:
    from agents.run_config import CallModelData, ModelInputData, RunConfig
except ImportError as error:
    raise missing("openai-agents", "openai-agents") from error

_STORED: ContextVar[bool] = ContextVar("pi_rank_session", default=False)  # whether this run has a session


def run_config(
    injector: Injector,
    base: RunConfig | None = None,
    *,
    rules: RenderRules | None = None,
    server_state: bool | None = None,
) -> RunConfig:
    """A copy of `base` that injects. Callbacks that `base` has already run before ours.

    :param rules: how blocks are rendered, `pin_rules("openai_responses", model)` saved with the conversation;
        without them all is user text.
    :param server_state: whether the server keeps the conversation. A per-call injector needs to know: the
        server would keep the text, and the SDK does not tell its callbacks.
    :raises ContextError: a per-call injector without `server_state`.
    """
    given = base or RunConfig()
    if injector.mode == "per_call" and server_state is None:
        raise ContextError(
            "mode='per_call' needs server_state=False, or True for runs with previous_response_id or "
            "conversation_id, where nothing is written: the server would keep the text"
        )

    async def with_memory(history: list[Any], new: list[Any]) -> list[Any]:
        _STORED.set(True)
        merge = given.session_input_callback
        combined = await _awaited(merge(history, new)) if merge else history + new
        if injector.mode == "persist":  # in place: the SDK stores the items of `new` as they are afterwards
            await injector.ainject(combined, dialect="openai_responses")
        return combined

    async def outgoing(data: CallModelData[Any]) -> ModelInputData:
        earlier = given.call_model_input_filter
        model_data = await _awaited(earlier(data)) if earlier else data.model_data
        items: list[Any] = list(model_data.input)
        if injector.mode == "per_call":
            kept = bool(server_state)
            result = await injector.ainject(items, dialect="openai_responses", server_state=kept)
            items = result.outgoing
        elif not _STORED.get():
            await _warn_of_lost(injector, items)
        sent = [_unmarked(item) for item in items]
        if rules is not None:
            sent = render(items, rules, dialect="openai_responses")
        return ModelInputData(input=sent, instructions=model_data.instructions)

    return replace(given, session_input_callback=with_memory, call_model_input_filter=outgoing)


async def _warn_of_lost(injector: Injector, items: list[Any]) -> None:
    """Say that a run without a session goes without memory, if there is any for it."""
    if (
        not items
        or role_of(items[-1]) != "user"
        or any(may_hold_marks(i) for i in items if isinstance(i, dict))
    ):
        return
    tried = await injector.ainject([dict(i) if isinstance(i, dict) else i for i in items])
    if tried.wrote:
        warnings.warn(
            "this run has no session to store memory in, and goes without: pass session=…, or call "
            "injector.ainject(items) on your own items before the run",
            stacklevel=2,
        )


async def _awaited(value: Any) -> Any:  # noqa: ANN401 - a callback's result, awaitable or not
    return await value if inspect.isawaitable(value) else value


def _unmarked(item: Any) -> Any:  # noqa: ANN401 - any item of the Responses API
    if not isinstance(item, dict) or not (may_hold_marks(item) or "tracking_id" in item):
        return item
    bare = without_own_keys(item)
    if isinstance(bare.get("content"), list):
        parts = bare["content"]
        bare["content"] = [without_own_keys(part) if isinstance(part, dict) else part for part in parts]
    return bare
