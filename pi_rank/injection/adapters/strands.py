"""strands-agents: a plugin that adds memory to each user message before it is saved and sent.

    agent = Agent(model=model, plugins=[StrandsMemory(Injector(engine))], session_manager=sessions)

The block is written when the message enters the agent's history, ahead of session managers (they write a
message once, when it is added), and stays there: retries, tool loops and restored sessions find it. The
memory
is asked without stopping the event loop. How blocks are rendered is pinned in the agent's state, under
`RULES`.

What else reads the conversation has its wrapper in `pi_rank.injection.adapters.strands_readers`.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pi_rank.errors import ConfigError
from pi_rank.injection.adapters import missing
from pi_rank.injection.history.consumers import strip_injected
from pi_rank.injection.history.messages import message_marks
from pi_rank.injection.history.quarantine import Quarantine
from pi_rank.injection.history.quarantine import quarantine as quarantine_block
from pi_rank.injection.injector import Injector
from pi_rank.injection.render.bedrock import split_tool_results
from pi_rank.injection.render.rules import Provider, RenderRules, pin_rules, switch_model
from pi_rank.injection.render.strands import with_system_messages

try:
    from strands.hooks import BeforeInvocationEvent, HookOrder, MessageAddedEvent
    from strands.middleware import InvokeModelStage
    from strands.plugins import Plugin
    from strands.session.repository_session_manager import RepositorySessionManager
    from strands.tools.structured_output._structured_output_context import DEFAULT_STRUCTURED_OUTPUT_PROMPT
except ImportError as error:
    raise missing("strands-agents", "strands") from error

if TYPE_CHECKING:
    from strands import Agent
    from strands.middleware.stages import InvokeModelContext

logger = logging.getLogger("pi_rank.injection")
RULES = "pi_rank_rendering"
_PROVIDERS: dict[str, Provider] = {"BedrockModel": "bedrock", "AnthropicModel": "anthropic"}


class StrandsMemory(Plugin):
    """The plugin. Its name is the injector's source, so that an agent cannot have one injector twice."""

    def __init__(self, injector: Injector) -> None:
        self.injector = injector
        self._saved: set[str] = set()  # quarantined blocks that the session has
        super().__init__()

    @property
    def name(self) -> str:
        """The injector's source."""
        return self.injector.source

    def init_agent(self, agent: Agent) -> None:
        """Register with the agent: once its messages are saved with the block, or per call."""
        if self.injector.mode == "persist":
            agent.add_hook(self._write, MessageAddedEvent, order=HookOrder.SDK_FIRST)
            agent.add_hook(self._write_to_given, BeforeInvocationEvent)
        agent.add_middleware(InvokeModelStage.Input, self._outgoing)

    async def _write(self, event: MessageAddedEvent[Any]) -> None:
        if event.message["role"] == "user" and not _is_the_sdks(event.message, event.agent):
            await self.injector.ainject(
                event.agent.messages, dialect="strands", server_state=event.agent.model.stateful
            )

    async def _write_to_given(self, event: BeforeInvocationEvent) -> None:
        """`Agent(messages=[…])()`: the user's message was there before, so nobody announces it.

        A block that was quarantined since the last turn is stored as it is now.
        """
        agent: Any = event.agent
        for index, message in enumerate(agent.messages):
            for mark in message_marks(message) if "metadata" in message else ():
                if mark.quarantined and mark.id not in self._saved:
                    save_again(agent, index)
                    self._saved.add(mark.id)
        if event.messages or not agent.messages or agent.messages[-1]["role"] != "user":
            return
        result = await self.injector.ainject(
            agent.messages, dialect="strands", server_state=agent.model.stateful
        )
        if result.wrote:
            save_again(agent, result.message_index)

    async def _outgoing(self, context: InvokeModelContext) -> InvokeModelContext:
        """The call's own copy of the messages, without marks: a provider may refuse keys it does not know."""
        messages: list[Any] = context.messages
        trailing = context.dynamic_trailing_blocks
        if self.injector.mode == "per_call" and not (messages and _is_the_sdks(messages[-1], context.agent)):
            stateful = context.agent.model.stateful
            result = await self.injector.ainject(messages, dialect="strands", server_state=stateful)
            messages = result.outgoing
            trailing += result.wrote and result.message_index == len(messages) - 1
        rules = pinned_rules(context.agent)
        sent = with_system_messages(messages, rules)
        if rules is not None and rules.tool_result_text == "split":
            sent = split_tool_results(sent)
        return replace(context, messages=sent, dynamic_trailing_blocks=trailing)


def pinned_rules(agent: Any) -> RenderRules | None:  # noqa: ANN401
    """How the agent's conversation is rendered, pinned at its first call; None for a model of which nothing
    is
    known: all is text then."""
    provider = _PROVIDERS.get(type(agent.model).__name__)
    config = agent.model.get_config() if provider is not None else None
    model = config.get("model_id") if isinstance(config, dict) else None
    if provider is None or not isinstance(model, str):
        return None
    saved = agent.state.get(RULES)
    try:
        kept = RenderRules.from_dict(saved) if isinstance(saved, dict) else None
    except ConfigError:
        kept = None
    if kept is not None and (kept.provider, kept.model) == (provider, model):
        return kept
    rules = pin_rules(provider, model) if kept is None else switch_model(kept, provider, model)
    agent.state.set(RULES, rules.to_dict())
    return rules


def quarantine(agent: Agent, block_id: str) -> Quarantine:
    """Replace a block that trips a guardrail in the agent's history and in the session that stores it.

    A `SnapshotSessionManager` writes the whole conversation at its next save.

    :raises ContextError: no block of the conversation has this id.
    """
    done = quarantine_block(agent.messages, block_id, "strands")
    save_again(agent, done.message_index)
    return done


def save_again(agent: Any, index: int) -> None:  # noqa: ANN401
    """Have the agent's session manager store a message as it is now."""
    manager = getattr(agent, "_session_manager", None)
    message = agent.messages[index]
    if not isinstance(manager, RepositorySessionManager):
        return  # the others store the whole conversation each time
    for stored in manager.session_repository.list_messages(manager.session_id, agent.agent_id):
        if _is_same(stored.to_message(), message):
            stored.message, stored.redact_message = message, stored.redact_message and message
            manager.session_repository.update_message(manager.session_id, agent.agent_id, stored)


def _is_same(kept: Any, message: Any) -> bool:  # noqa: ANN401
    """Whether a stored message is this one. One that was given to the agent is stored before it has an id."""
    if kept.get("tracking_id"):
        return bool(kept["tracking_id"] == message.get("tracking_id"))
    return bool(strip_injected([message], "strands") == [kept])


def _is_the_sdks(message: Any, agent: Any) -> bool:  # noqa: ANN401
    """Whether a message is the SDK's own prompt that forces structured output, not the user's words."""
    prompt = getattr(agent, "_structured_output_prompt", None) or DEFAULT_STRUCTURED_OUTPUT_PROMPT
    return bool(message["role"] == "user" and message["content"] == [{"text": prompt}])
