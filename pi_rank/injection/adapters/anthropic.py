"""The bare `anthropic` client: the arguments of a request, and the reply to store.

    messages.append({"role": "user", "content": "…"})
    response = client.messages.create(**request(injector, messages, rules, model=model, max_tokens=1024))
    messages.append(reply(response))

Sync, async and streaming clients take the same arguments. `rules` are `pin_rules("anthropic", model)`,
saved with the conversation. The package itself is not imported here.
"""

from __future__ import annotations

from typing import Any

from pi_rank.injection.history.messages import RawMessage
from pi_rank.injection.injector import Injector
from pi_rank.injection.render import RenderRules, render
from pi_rank.injection.render.portable import count_keys
from pi_rank.injection.render.tool_changes import betas_of

BETA_HEADER = "anthropic-beta"
CACHED = ("tools", "system")  # where a caller sets breakpoints of his own


def request(
    injector: Injector,
    messages: list[RawMessage],
    rules: RenderRules,
    **options: Any,  # noqa: ANN401 - the arguments of the client
) -> dict[str, Any]:
    """The turn's memory added to `messages`, and the arguments of `client.messages.create`.

    Save `messages` before the call: a block that was sent must not be lost. `options` are passed on; cache
    breakpoints on their tools and system, and a `cache_control` of the request itself, count towards the four
    that a request may have. What the messages hold decides which beta headers go with them (tools that come
    and go, text that holds for one turn).
    """
    result = injector.inject(messages, dialect="anthropic")
    used = count_keys({key: options.get(key) for key in CACHED}, "cache_control") + (
        "cache_control" in options
    )
    sent = render(result.outgoing, rules, dialect="anthropic", used_breakpoints=used)
    return _with_betas({**options, "messages": sent}, betas_of(sent))


def _with_betas(arguments: dict[str, Any], betas: list[str]) -> dict[str, Any]:
    """The arguments with the betas that the messages need: in `betas` if that is given, else as a header."""
    if not betas:
        return arguments
    if "betas" in arguments:
        return {
            **arguments,
            "betas": [*arguments["betas"], *(b for b in betas if b not in arguments["betas"])],
        }
    headers = arguments.get("extra_headers") or {}
    given = [beta for beta in headers.get(BETA_HEADER, "").split(",") if beta]
    joined = ",".join([*given, *(beta for beta in betas if beta not in given)])
    return {**arguments, "extra_headers": {**headers, BETA_HEADER: joined}}


def reply(response: Any) -> RawMessage:  # noqa: ANN401 - anthropic.types.Message
    """The response as a message to append to the conversation, thinking and signatures as they came."""
    content = [block.model_dump(mode="json", exclude_unset=True) for block in response.content]
    return {"role": "assistant", "content": content}
