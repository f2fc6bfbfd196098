from collections.abc import Callable, Iterable
from typing import Any

def intact_marks(
    messages: Iterable[Any],
    verified: set[int],
    look: Callable[[dict[str, Any]], list[dict[str, Any]]],
) -> list[dict[str, Any]]:
    """The marks of user messages whose whole text is there, in the order in which the texts stand.

    :param verified: the `text_key`s of what was looked at before: a part's text, or a string content, and the
        digest of a text that it holds.
    :param look: gives the marks of one message of which not all is in `verified`.
    """

def text_key(text: str, digest: str) -> int:
    """A number for a text and a digest; two pairs have the same one by chance in one of 2^64 cases."""

def gather_records(
    marks: list[dict[str, Any]], source: str
) -> tuple[dict[str, str], list[dict[str, Any]]] | None:
    """Record id → version after the marks of one source, and these marks; None where one is half-written."""

def plain_messages(
    messages: Iterable[Any], kinds: dict[str, Any], keyed: bool
) -> list[dict[str, Any] | None]:
    """Each message as it is sent in its own dialect, its role and its parts; None where `plain_parts` gives
    none, or it is neither a user's nor an assistant's.
    """

def plain_parts(message: object, kinds: dict[str, Any], keyed: bool) -> list[dict[str, Any]] | None:
    """The parts of a message as they are sent in its own dialect, in a new list, where only our keys
    (`metadata`, `tracking_id`) have to go.

    None where more is to be done: no dict (or a subclass, which may have an order of its own), no list of
    parts, an empty or unknown part, tool results behind something else, tool calls outside the content, a
    mark of anything but plain text to keep.

    :param kinds: a part's `type` → its kind; with `keyed` the part's first key, the only one that a text part
        may have.
    """

def parts_with(messages: list[dict[str, Any]], key: str) -> int:
    """How many parts of messages to be sent hold a key, the parts of Anthropic's tool results included."""
