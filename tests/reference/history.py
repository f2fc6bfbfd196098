"""The walks over message dicts, one plain step after another."""

from __future__ import annotations


def stored_marks(messages):
    """The dicts with an id where marks stand; a part's own is left out where its message lists its id."""
    found = []
    for message in messages:
        if not isinstance(message, dict) or not has_word(message, "role", "user"):
            continue
        listed = injected(message)
        listed = [mark for mark in listed if has_id(mark)] if isinstance(listed, list) else []
        content = message.get("content")
        parts = content if isinstance(content, list) else []
        own = [mark for mark in map(injected, parts) if has_id(mark)]
        ids = [mark["id"] for mark in listed]
        found += listed + [mark for mark in own if mark["id"] not in ids]
    return found


def has_id(mark):
    return isinstance(mark, dict) and isinstance(mark.get("id"), str)


def plain_messages(messages, kinds, keyed):
    """Each message by role and parts, or None."""
    return [plain_message(message, kinds, keyed) for message in messages]


def plain_message(message, kinds, keyed):
    if type(message) is not dict or not has_word(message, "role", "user", "assistant"):
        return None
    parts = plain_parts(message, kinds, keyed)
    return None if parts is None else {"role": message["role"], "content": parts}


def plain_parts(message, kinds, keyed):
    """The parts without our keys, or None where one of the rules below is broken."""
    if type(message) is not dict:
        return None
    content, listed = message.get("content"), injected(message)
    if not isinstance(content, list) or not content or "tool_calls" in message:
        return None
    marks = [*(listed if isinstance(listed, list) else []), *map(injected, content)]
    found = [kind(part, kinds, keyed) for part in content]
    results = [index for index, name in enumerate(found) if name == "tool_result"]
    if None in found or not all(map(sent_as_text, marks)) or results != list(range(len(results))):
        return None
    if keyed:
        parts = [{key: value for key, value in part.items() if key in kinds} for part in content]
    else:
        own = ("metadata", "tracking_id")
        parts = [{key: value for key, value in part.items() if key not in own} for part in content]
    several = [part for name, part in zip(found, parts, strict=True) if name == "text" and len(part) > 1]
    return None if keyed and several else parts


def kind(part, kinds, keyed):
    """The kind of a part; None where it is unknown or a text without text."""
    if type(part) is not dict:
        return None
    name = next(iter(part), None) if keyed else part.get("type")
    found = kinds.get(name) if isinstance(name, str) else None
    if found == "text" and not (isinstance(part.get("text"), str) and part["text"]):
        return None
    return found


def injected(raw):
    metadata = raw.get("metadata") if isinstance(raw, dict) else None
    return metadata.get("injected") if isinstance(metadata, dict) else None


def sent_as_text(mark):
    """Whether no rendering but the text itself, in every call, is asked for."""
    if not isinstance(mark, dict):
        return mark is None
    return has_word(mark, "rendering", "text") and "per_call" not in mark


def has_word(raw, key, *words):
    return isinstance(raw.get(key), str) and raw[key] in words


def parts_with(messages, key):
    """How many parts have the key."""
    return sum(key in part for message in messages for part in message["content"])
