"""strands-agents: what reads an agent's conversation beside its model, without the injected text.

    Agent(conversation_manager=SummarizingWithoutMemory(), plugins=[StrandsMemory(injector), MemoryManager(
        stores=[StoreConfig(…, extraction={"extractor": ExtractorWithoutMemory(ModelExtractor())})],
        injection={"query": users_words},
    )])

`MemoryManager` keeps facts of a user: without the wrapper it would learn what memory said as if he had said
it,
and look up memory by memory. Two readers cannot be wrapped: `BedrockModel(guardrail_latest_message=True)`
evaluates the injected text with the user's (`find_tripping` names the block that trips it), and the SDK's
spans
hold messages; `OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_unredacted_attributes=` leaves their texts out.
"""

from __future__ import annotations

from typing import Any

from pi_rank.injection.adapters import missing
from pi_rank.injection.history.consumers import own_words, strip_injected

try:
    from strands.agent.conversation_manager import SummarizingConversationManager
except ImportError as error:
    raise missing("strands-agents", "strands") from error


class SummarizingWithoutMemory(SummarizingConversationManager):
    """A summary of the conversation as the user had it. What was recalled is recalled again when it is
    needed.

    The thinking of the summarised turns is left out too: it is bound to the history that is summarised away.
    """

    def _generate_summary(self, messages: list[Any], agent: Any) -> Any:  # noqa: ANN401
        kept: list[Any] = []
        for message in strip_injected(messages, "strands"):
            content = [part for part in message["content"] if "reasoningContent" not in part]
            if content:
                kept.append({**message, "content": content})
        return super()._generate_summary(kept, agent)


class ExtractorWithoutMemory:
    """An extractor of a `MemoryManager`'s store that does not see injected text."""

    def __init__(self, extractor: Any) -> None:  # noqa: ANN401 - strands.memory.Extractor
        self.extractor = extractor

    async def extract(self, messages: list[Any], *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        """What the wrapped extractor finds in the conversation as the user had it."""
        return await self.extractor.extract(strip_injected(messages, "strands"), *arguments, **options)


def users_words(context: Any) -> str:  # noqa: ANN401 - strands.memory.InjectionQueryContext
    """The `query` of a `MemoryManager`'s injection: the user's own words."""
    return own_words(context.messages, "strands")
