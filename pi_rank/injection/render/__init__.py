"""What is sent: a stored conversation in the form its model accepts, the same bytes every time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pi_rank.injection.history.dialects import Dialect, detect
from pi_rank.injection.history.messages import view
from pi_rank.injection.history.objects import as_plain, kind_of
from pi_rank.injection.render import anthropic, bedrock, openai_chat, openai_responses
from pi_rank.injection.render.rules import Provider, RenderRules, pin_rules, switch_model

__all__ = ["Provider", "RenderRules", "pin_rules", "render", "switch_model"]


def render(
    messages: Sequence[Any], rules: RenderRules, *, dialect: Dialect | None = None, used_breakpoints: int = 0
) -> list[dict[str, Any]]:
    """The messages (or Responses items) of a request. The stored history is read, never changed.

    How a block is rendered depends on the block and the rules alone, so an earlier message has the same
    bytes in every request. Marks and tracking ids are left out; the text is sent as it is stored, separator
    included.

    Objects of the `anthropic` and `openai` packages, as their responses hold them, are sent as the dicts that
    they are.

    :param dialect: the shape in which the history is stored; found by looking at it when not given.
    :param used_breakpoints: cache breakpoints already spent on tools and system (Anthropic, Bedrock).
    """
    found = dialect or detect(messages)
    if any(type(message) is not dict for message in messages):
        kind_of(messages)
        messages = [as_plain(message) for message in messages]
    if rules.provider == "anthropic":
        return anthropic.render(messages, found, rules, used_breakpoints)
    if rules.provider == "bedrock":
        return bedrock.render(messages, found, rules, used_breakpoints)
    if rules.provider == "openai_chat":
        return openai_chat.render(view(messages, found), rules)
    return openai_responses.render(view(messages, found), rules)
