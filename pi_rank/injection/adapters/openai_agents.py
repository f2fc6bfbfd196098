"""OpenAI Agents SDK: a RunConfig under which memory is stored with the session and sent from there.

    config = run_config(Injector(engine))
    result = await Runner.run(agent, "…", session=session, run_config=config)

The session stores the user's item with the block. The SDK offers no other place to store it: without a
session, call `injector.inject(items)` on your own list of items before each run, and pass that list and
this config. A conversation that the server keeps (`conversation_id`, `previous_response_id`) takes no
session; use the same way.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

from pi_rank.injection.adapters import missing
from pi_rank.injection.injector import Injector
from pi_rank.injection.render.portable import without_own_keys

try:
    from agents.run_config import CallModelData, ModelInputData, RunConfig
except ImportError as error:
    raise missing("openai-agents", "openai-agents") from error


def run_config(injector: Injector, base: RunConfig | None = None) -> RunConfig:
    """A copy of `base` that injects. Callbacks that `base` has already run before ours."""
    given = base or RunConfig()

    async def with_memory(history: list[Any], new: list[Any]) -> list[Any]:
        merge = given.session_input_callback
        combined = await _awaited(merge(history, new)) if merge else history + new
        if injector.mode == "persist":  # in place: the SDK stores the items of `new` as they are afterwards
            injector.inject(combined, dialect="openai_responses")
        return combined

    async def outgoing(data: CallModelData[Any]) -> ModelInputData:
        earlier = given.call_model_input_filter
        model_data = await _awaited(earlier(data)) if earlier else data.model_data
        items: list[Any] = list(model_data.input)
        if injector.mode == "per_call":
            items = injector.inject(items, dialect="openai_responses").outgoing
        return ModelInputData(input=[_unmarked(item) for item in items], instructions=model_data.instructions)

    return replace(given, session_input_callback=with_memory, call_model_input_filter=outgoing)


async def _awaited(value: Any) -> Any:  # noqa: ANN401 - a callback's result, awaitable or not
    return await value if inspect.isawaitable(value) else value


def _unmarked(item: Any) -> Any:  # noqa: ANN401 - any item of the Responses API
    if not isinstance(item, dict):
        return item
    bare = without_own_keys(item)
    if isinstance(bare.get("content"), list):
        parts = bare["content"]
        bare["content"] = [without_own_keys(part) if isinstance(part, dict) else part for part in parts]
    return bare
