"""How a conversation is rendered: looked up once in the capability table, then saved with it."""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from pi_rank.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Provider = Literal["anthropic", "bedrock", "openai_chat", "openai_responses"]
CAPABILITIES = Path(__file__).with_name("capabilities.toml")
_ROWS = {
    "anthropic": "anthropic",
    "bedrock": "bedrock",
    "openai_chat": "openai",
    "openai_responses": "openai",
}
_SHAPING = ("system_messages", "developer_messages", "tool_result_text", "turn_scoped", "tool_changes")
ToolChangeForm = Literal["blocks", "additional_tools", "none"]


class RenderRules(msgspec.Struct, frozen=True, kw_only=True):
    """What decides the bytes of every stored block, for as long as the conversation lives.

    Save `to_dict()` with the conversation and read it back with `from_dict`: a later table, another
    configuration or an upgrade then changes nothing that was sent before. `resets` names the switches of
    model that did.
    """

    provider: Provider
    model: str
    system_messages: bool
    developer_messages: bool
    tool_result_text: Literal["beside", "split"]
    cache: Literal["breakpoints", "cache_points", "prefix"]
    turn_scoped: bool = False
    tool_changes: ToolChangeForm = "none"
    allowed_tools: Literal["none", "declared", "all"] = "none"
    breakpoints: int = 1
    resets: tuple[str, ...] = ()
    version: int = 1

    def to_dict(self) -> dict[str, Any]:
        """The rules as plain JSON values."""
        encoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return encoded

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> RenderRules:
        """The rules that a conversation was saved with; keys of a newer version are ignored.

        :raises ConfigError: a key that these rules need is missing or has a value that is not known.
        """
        try:
            return msgspec.convert(saved, cls)
        except msgspec.ValidationError as error:
            raise ConfigError(f"the saved rendering rules cannot be read: {error}") from None


def pin_rules(provider: Provider, model: str, *, breakpoints: int = 1) -> RenderRules:
    """The rules for a new conversation with a model.

    :param breakpoints: how many cache breakpoints `render` sets where the provider takes them: 0, 1 (the
    newest user message) or 2 (the one before it too).
    :raises ConfigError: the provider is unknown, or breakpoints is out of range.
    """
    if provider not in _ROWS:
        raise ConfigError(f"provider {provider!r} is unknown: use one of {', '.join(_ROWS)}")
    rows = _table()[_ROWS[provider]]
    if breakpoints not in (0, 1, 2):
        raise ConfigError(f"breakpoints is {breakpoints}: use 0, 1 or 2")
    row = next(row for row in rows if any(fnmatchcase(model, pattern) for pattern in row["models"]))
    found = {
        key: value for key, value in {**rows[-1], **row}.items() if key not in ("models", "source", "date")
    }
    return RenderRules(provider=provider, model=model, breakpoints=breakpoints, **found)


def switch_model(rules: RenderRules, provider: Provider, model: str) -> RenderRules:
    """The rules after a change of model: how stored blocks are rendered is kept if the new model accepts it.

    Otherwise the new model's rules hold from here on, and `resets` says that the prefix changes. A change of
    provider is always a reset: no cache crosses it.
    """
    new = pin_rules(provider, model, breakpoints=rules.breakpoints)
    accepted = (
        provider == rules.provider
        and (new.system_messages or not rules.system_messages)
        and (new.developer_messages or not rules.developer_messages)
        and (new.tool_result_text == "beside" or rules.tool_result_text == "split")
        and (new.turn_scoped or not rules.turn_scoped)
        and rules.tool_changes in (new.tool_changes, "none")
    )
    if accepted:
        kept = {name: getattr(rules, name) for name in _SHAPING}
        return msgspec.structs.replace(new, **kept, resets=rules.resets)
    return msgspec.structs.replace(new, resets=(*rules.resets, f"{rules.model} -> {model}"))


@lru_cache(maxsize=1)
def _table() -> dict[str, list[dict[str, Any]]]:
    with CAPABILITIES.open("rb") as file:
        return tomllib.load(file)
