"""The walks over message dicts, one plain step after another."""

from __future__ import annotations


def intact_marks(messages, verified, look):
    """The marks of each user's message, or what `look` gives where one of them is not verified."""
    found = []
    for message in messages:
        if isinstance(message, dict) and has_word(message, "role", "user"):
            found += marks_of(message, verified, look)
    return found


def marks_of(message, verified, look):
    listed, content = injected(message), message.get("content")
    listed = listed if isinstance(listed, list) else []
    if isinstance(content, list):
        marked = [part for part in content if injected(part) is not None]
        own = [injected(part) for part in marked]
        known = all(known_mark(injected(part), part.get("text"), verified) for part in marked)
        if not known or not all(has_id(mark) and mark["id"] in [m["id"] for m in own] for mark in listed):
            return look(message)
        return own
    if not all(known_mark(mark, content, verified) for mark in listed):
        return look(message)
    return listed


def known_mark(mark, text, verified):
    if not has_id(mark) or not isinstance(text, str) or not isinstance(mark.get("digest"), str):
        return False
    return text_key(text, mark["digest"]) in verified


def text_key(text, digest):
    mixed = (hash(text) * 1_000_003 ^ hash(digest)) % 2**64
    mixed = mixed - 2**64 if mixed >= 2**63 else mixed
    return -2 if mixed == -1 else mixed


def gather_records(marks, source):
    records, others = {}, []
    for mark in marks:
        if mark.get("source") != source:
            continue
        lists = [mark.get(key, []) for key in ("record_ids", "versions", "withdrawn")]
        if not all(isinstance(each, list) and all(isinstance(word, str) for word in each) for each in lists):
            return None
        ids, versions, withdrawn = lists
        for gone in withdrawn:
            records.pop(gone, None)
        for at, record in enumerate(ids):
            records[record] = versions[at] if at < len(versions) else ""
        others.append(mark)
    return records, others


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
    """How many parts have the key, those of tool results included."""
    parts = [part for message in messages for part in dicts_in(message.get("content"))]
    inner = [
        p for part in parts if has_word(part, "type", "tool_result") for p in dicts_in(part.get("content"))
    ]
    return sum(key in part for part in parts + inner)


def dicts_in(content):
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
