"""The walks over a conversation's message dicts that every turn makes, whatever half-written things it holds.

    marks = stored_marks(messages)
    ready = plain_messages(messages, ANTHROPIC_TYPES, False)    # None where the general way has to do it

Nothing is kept between two calls, and no message is changed.
"""


def stored_marks(messages):
    cdef list found = []
    cdef set ids
    for message in messages:
        if not isinstance(message, dict) or not _is(<dict>message, "role", "user"):
            continue
        listed = _injected(<dict>message)
        ids = None
        if isinstance(listed, list):
            for mark in <list>listed:
                if _has_id(mark):
                    found.append(mark)
        content = (<dict>message).get("content")
        if isinstance(content, list):
            for part in <list>content:
                mark = _injected(<dict>part) if isinstance(part, dict) else None
                if _has_id(mark):
                    if ids is None:
                        ids = _ids(listed)
                    if (<dict>mark)["id"] not in ids:
                        found.append(mark)
    return found


cdef bint _has_id(mark):
    return isinstance(mark, dict) and isinstance((<dict>mark).get("id"), str)


cdef set _ids(listed):
    """The ids of a message's own marks, if it has any."""
    cdef set ids = set()
    if isinstance(listed, list):
        for mark in <list>listed:
            if _has_id(mark):
                ids.add((<dict>mark)["id"])
    return ids


def plain_messages(messages, dict kinds, bint keyed):
    cdef list found = []
    for message in messages:
        found.append(_plain_message(message, kinds, keyed))
    return found


def plain_parts(message, dict kinds, bint keyed):
    return _plain_parts(<dict>message, kinds, keyed) if type(message) is dict else None


def parts_with(list messages, str key):
    cdef Py_ssize_t count = 0
    for message in messages:
        for part in message["content"]:
            count += key in part
    return count


cdef dict _plain_message(message, dict kinds, bint keyed):
    if type(message) is not dict:  # a subclass may have an order of its own
        return None
    if not (_is(<dict>message, "role", "user") or _is(<dict>message, "role", "assistant")):
        return None
    parts = _plain_parts(<dict>message, kinds, keyed)
    return None if parts is None else {"role": (<dict>message)["role"], "content": parts}


cdef list _plain_parts(dict message, dict kinds, bint keyed):
    cdef list parts = []
    cdef bint only_results = True
    content = message.get("content")
    if not isinstance(content, list) or not <list>content:
        return None
    if len(message) > 2 and ("tool_calls" in message or not _all_sent_as_text(_injected(message))):
        return None
    for part in <list>content:
        kind = _kind(<dict>part, kinds, keyed) if type(part) is dict else None
        if kind is None or (kind == "text" and not _has_text(<dict>part)):
            return None
        if kind != "tool_result":
            only_results = False
        elif not only_results:
            return None
        if kind != "text" or len(<dict>part) > (1 if keyed else 2):  # something beside the text and its type
            if not _sent_as_text(_injected(<dict>part)):
                return None
            part = _known_keys(<dict>part, kinds) if keyed else _without_own_keys(<dict>part)
            if keyed and kind == "text" and len(<dict>part) > 1:
                return None
        parts.append(part)
    return parts


cdef _kind(dict part, dict kinds, bint keyed):
    """The kind of a part that has one; None where it is unknown, or not named by its first key."""
    if not keyed:
        name = part.get("type")
        return kinds.get(name) if isinstance(name, str) else None
    for name in part:
        return kinds.get(name)
    return None


cdef bint _has_text(dict part):
    text = part.get("text")
    return isinstance(text, str) and len(<str>text) > 0


cdef dict _known_keys(dict part, dict kinds):
    return {key: value for key, value in part.items() if key in kinds}


cdef dict _without_own_keys(dict part):
    cdef dict copy
    if "metadata" not in part and "tracking_id" not in part:
        return part
    copy = part.copy()
    copy.pop("metadata", None)
    copy.pop("tracking_id", None)
    return copy


cdef bint _all_sent_as_text(listed):
    if isinstance(listed, list):
        for mark in <list>listed:
            if not _sent_as_text(mark):
                return False
    return True


cdef bint _sent_as_text(mark):
    if not isinstance(mark, dict):
        return mark is None
    return _is(<dict>mark, "rendering", "text") and "per_call" not in <dict>mark


cdef _injected(dict raw):
    metadata = raw.get("metadata")
    return (<dict>metadata).get("injected") if isinstance(metadata, dict) else None


cdef bint _is(dict raw, str key, str word):
    value = raw.get(key)
    return isinstance(value, str) and value == word
