from collections.abc import Iterable
from typing import Any

def stored_marks(messages: Iterable[Any]) -> list[dict[str, Any]]:
    """What stands where marks do in user messages, and has an id; in the order in which blocks were written.

    A message's own list comes first; of its parts' marks, those whose id is not in that list (the usual case
    is that it is).
    """

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

    :param kinds: a part's `type` → its kind; with `keyed` the part's first key, the only one that is sent of
        a text part, and keys that are not in it are left out.
    """

def parts_with(messages: list[dict[str, Any]], key: str) -> int:
    """How many parts of messages to be sent hold a key: each message's `content` is a list of dicts."""
