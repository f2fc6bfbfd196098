"""strands-agents: a plugin that adds memory to each user message before it is saved and sent.

    agent = Agent(model=model, plugins=[StrandsMemory(Injector(engine))], session_manager=sessions)

The block is written when the message enters the agent's history, ahead of session managers (they write a
message once, when it is added), and stays there: retries, tool loops and restored sessions find it.
Summaries of a conversation manager are made by the framework from the history as it is; pass
`strip_injected(agent.messages)` to whatever else reads it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pi_rank.injection.adapters import missing
from pi_rank.injection.injector import Injector

try:
    from strands.hooks import HookOrder, MessageAddedEvent
    from strands.middleware import InvokeModelStage
    from strands.plugins import Plugin
except ImportError as error:
    raise missing("strands-agents", "strands") from error

if TYPE_CHECKING:
    from strands import Agent
    from strands.middleware.stages import InvokeModelContext


class StrandsMemory(Plugin):
    """The plugin. Its name is the injector's source, so that an agent cannot have one injector twice."""

    def __init__(self, injector: Injector) -> None:
        self.injector = injector
        super().__init__()

    @property
    def name(self) -> str:
        """The injector's source."""
        return self.injector.source

    def init_agent(self, agent: Agent) -> None:
        """Register with the agent: once its messages are saved with the block, or per call."""
        if self.injector.mode == "persist":
            agent.add_hook(self._write, MessageAddedEvent, order=HookOrder.SDK_FIRST)
        agent.add_middleware(InvokeModelStage.Input, self._outgoing)

    def _write(self, event: MessageAddedEvent[Any]) -> None:
        if event.message["role"] == "user":
            self.injector.inject(
                event.agent.messages, dialect="strands", server_state=event.agent.model.stateful
            )

    def _outgoing(self, context: InvokeModelContext) -> InvokeModelContext:
        """The call's own copy of the messages, without marks: a provider may refuse keys it does not know."""
        messages: list[Any] = context.messages
        trailing = context.dynamic_trailing_blocks
        if self.injector.mode == "per_call":
            stateful = context.agent.model.stateful
            result = self.injector.inject(messages, dialect="strands", server_state=stateful)
            messages = result.outgoing
            trailing += result.wrote and result.message_index == len(messages) - 1
        return replace(context, messages=[_unmarked(m) for m in messages], dynamic_trailing_blocks=trailing)


def _unmarked(message: Any) -> Any:  # noqa: ANN401 - a Message of strands
    content = message["content"]
    if not any("metadata" in block for block in content):
        return message
    bare = [{key: value for key, value in block.items() if key != "metadata"} for block in content]
    return {**message, "content": bare}
