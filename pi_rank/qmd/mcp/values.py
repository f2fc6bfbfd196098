"""What the MCP tools take and give, without the SDK."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from pi_rank.qmd.errors import QmdError
from pi_rank.qmd.text import clean

MAX_LIMIT = 1000


class Resource(NamedTuple):
    """A document that goes with an answer."""

    uri: str
    name: str
    title: str
    text: str


class ToolAnswer(NamedTuple):
    """`text` for a reader, `structured` for a program, documents as resources; or an error in `text`."""

    text: str = ""
    structured: dict[str, Any] | None = None
    resources: tuple[Resource, ...] = ()
    is_error: bool = False


def text_of(arguments: dict[str, Any], name: str) -> str:
    """A text that must be there.

    :raises QmdError: it is missing, empty or no text.
    """
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise QmdError(f"'{name}' must be some text")
    return clean(value)


def list_of(arguments: dict[str, Any], name: str, most: int = MAX_LIMIT) -> list[Any]:
    """A list, empty where it is missing.

    :raises QmdError: it is no list, or longer than `most`.
    """
    value = arguments.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > most:
        raise QmdError(f"'{name}' must be a list of at most {most}")
    return value


def names_of(arguments: dict[str, Any], name: str) -> list[str]:
    """A list of texts.

    :raises QmdError: it is no list, or something in it is no text.
    """
    names = list_of(arguments, name)
    if not all(isinstance(each, str) for each in names):
        raise QmdError(f"'{name}' must be a list of texts")
    return [clean(each) for each in names]


def folder_of(arguments: dict[str, Any], name: str) -> str | None:
    """A folder's path; None where it is missing.

    :raises QmdError: it is no text, or no path.
    """
    value = arguments.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str) or "\0" in value:
        raise QmdError(f"'{name}' must be a folder's path")
    return value


def limit_of(arguments: dict[str, Any], default: int) -> int:
    """How many results, 1 to `MAX_LIMIT`."""
    return max(1, min(MAX_LIMIT, int(number_of(arguments, "limit", default))))


def number_of(arguments: dict[str, Any], name: str, default: float) -> float:
    """A number, `default` where it is missing.

    :raises QmdError: it is no number, or not a finite one.
    """
    value = arguments.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise QmdError(f"'{name}' must be a number")
    return value
