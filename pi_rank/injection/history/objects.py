"""Messages that are a framework's objects: the views of them that the frameworks' adapters register.

strip_injected(state["messages"])        # LangChain's own messages, once its adapter is imported
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from pi_rank.injection.history.dialects import Dialect

_PLAIN = (dict, str, int, float, list, tuple, type(None))
_CLIENTS = ("anthropic", "openai")  # their responses are stored as they came, and are dicts at heart
_ADAPTERS = {"langchain_core": "langchain", "pydantic_ai": "pydantic_ai", "strands": "strands"}


class ObjectKind(msgspec.Struct, frozen=True):
    """How one framework's messages are seen.

    `view` gives a message as a dict of the dialect, `rebuilt` the message with a changed view's content and
    marks (None where nothing is left of it).
    """

    types: tuple[type, ...]
    dialect: Dialect
    view: Callable[[Any], dict[str, Any]]
    rebuilt: Callable[[Any, dict[str, Any]], Any]


_KINDS: list[ObjectKind] = []


def register(kind: ObjectKind) -> None:
    """Make a framework's messages known."""
    _KINDS.append(kind)


def kind_of(messages: Sequence[Any]) -> ObjectKind | None:
    """The kind of a conversation's messages; None for dicts.

    :raises TypeError: they are objects of which nobody knows how to read them.
    """
    for message in messages:
        if not isinstance(message, _PLAIN) and not is_client_object(message):
            found = next((kind for kind in _KINDS if isinstance(message, kind.types)), None)
            if found is None:
                raise TypeError(_unknown(message))
            return found
    return None


def is_client_object(value: Any) -> bool:  # noqa: ANN401
    """Whether a value is an object of the `anthropic` or `openai` package, as their responses hold them."""
    return type(value).__module__.partition(".")[0] in _CLIENTS and hasattr(value, "model_dump")


def as_plain(value: Any) -> Any:  # noqa: ANN401
    """A message or block as a dict, if it is an object of a client's."""
    if isinstance(value, _PLAIN) or not is_client_object(value):
        return value
    return value.model_dump(mode="json", exclude_unset=True)


def refuse_objects(messages: list[Any]) -> list[Any]:
    """The messages, if one can write to them in place.

    :raises TypeError: they are a framework's objects.
    """
    kind = kind_of(messages[-1:])
    if kind is None:
        return messages
    raise TypeError(f"{_named(messages[-1])} cannot be written to in place: use the adapter of its framework")


def _unknown(message: Any) -> str:  # noqa: ANN401
    framework = type(message).__module__.partition(".")[0]
    known = _ADAPTERS.get(framework)
    other = ", nor an object of a known framework"
    hint = f": import pi_rank.injection.adapters.{known} first" if known else other
    return f"{_named(message)} is no message dict{hint}"


def _named(message: Any) -> str:  # noqa: ANN401
    return f"{type(message).__module__}.{type(message).__qualname__}"
