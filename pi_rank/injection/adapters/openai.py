"""The bare `openai` client and servers that speak its protocols: a request's arguments, the reply to store.

    messages.append({"role": "user", "content": "…"})
    response = client.chat.completions.create(**chat_request(injector, messages, rules, model=model))
    messages.append(chat_reply(response))

    items.append({"role": "user", "content": "…"})
    response = client.responses.create(**responses_request(injector, items, rules, model=model))
    items += responses_reply(response)

`rules` are `pin_rules("openai_chat", model)` or `pin_rules("openai_responses", model)`, saved with the
conversation. The package itself is not imported here.
"""

from __future__ import annotations

from typing import Any

from pi_rank.injection.history.dialects import Dialect
from pi_rank.injection.history.messages import RawMessage, role_of
from pi_rank.injection.injector import Injector
from pi_rank.injection.render import RenderRules, render
from pi_rank.injection.tools import tool_choice


def chat_request(
    injector: Injector,
    messages: list[RawMessage],
    rules: RenderRules,
    **options: Any,  # noqa: ANN401 - the arguments of the client
) -> dict[str, Any]:
    """The turn's memory added to `messages`, and the arguments of `client.chat.completions.create`."""
    result = injector.inject(messages, dialect="openai_chat")
    options = _with_tool_choice(options, messages, rules, "openai_chat")
    return {**options, "messages": render(result.outgoing, rules, dialect="openai_chat")}


def chat_reply(response: Any) -> RawMessage:  # noqa: ANN401 - openai.types.chat.ChatCompletion
    """The first choice as a message to append to the conversation."""
    message: RawMessage = response.choices[0].message.model_dump(mode="json", exclude_none=True)
    return message


def responses_request(
    injector: Injector,
    items: list[RawMessage],
    rules: RenderRules,
    **options: Any,  # noqa: ANN401 - the arguments of the client
) -> dict[str, Any]:
    """The turn's memory added to `items`, and the arguments of `client.responses.create`.

    With `previous_response_id` or `conversation` in `options` the server has the earlier items, and only
    those after its last output are sent. A per-call injector writes nothing then: the server would keep the
    text.
    """
    kept = bool(options.get("previous_response_id") or options.get("conversation"))
    result = injector.inject(items, dialect="openai_responses", server_state=kept)
    first = _after_last_output(items) if kept else 0
    options = _with_tool_choice(options, items, rules, "openai_responses")
    return {**options, "input": render(result.outgoing[first:], rules, dialect="openai_responses")}


def _with_tool_choice(
    options: dict[str, Any], messages: list[RawMessage], rules: RenderRules, dialect: Dialect
) -> dict[str, Any]:
    """The options, with the choice that leaves out withdrawn tools; a choice of the caller's stays."""
    if not options.get("tools") or options.get("tool_choice", "auto") != "auto":
        return options
    choice = tool_choice(messages, options["tools"], rules, dialect)
    return options if choice is None else {**options, "tool_choice": choice}


def responses_reply(response: Any) -> list[RawMessage]:  # noqa: ANN401 - openai.types.responses.Response
    """The response's items, to be added to the conversation; reasoning items as they came."""
    return [item.model_dump(mode="json", exclude_unset=True) for item in response.output]


def _after_last_output(items: list[RawMessage]) -> int:
    outputs = [index for index, item in enumerate(items) if role_of(item) == "assistant"]
    return outputs[-1] + 1 if outputs else 0
