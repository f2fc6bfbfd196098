"""The walks over a conversation's message dicts that every turn makes, whatever half-written things it holds.

    marks = intact_marks(messages, verified, look)
    ready = plain_messages(messages, ANTHROPIC_TYPES, False)    # None where the general way has to do it

Nothing is kept between two calls, and no message is changed.
"""


from cpython.dict cimport PyDict_GetItemWithError
from cpython.object cimport PyObject


cdef inline object _get(dict raw, str key):
    """The value of a key, None where there is none; without a call of the method."""
    cdef PyObject* value = PyDict_GetItemWithError(raw, key)
    return None if value is NULL else <object>value


def intact_marks(messages, set verified, look):
    cdef list found = []
    for message in messages:
        if not isinstance(message, dict) or not _is(<dict>message, "role", "user"):
            continue
        _add_intact(found, <dict>message, verified, look)
    return found


def text_key(text, digest):
    return _text_key(text, digest)


cdef Py_hash_t _text_key(text, digest) except? -1:
    return hash(text) * <Py_hash_t>1000003 ^ hash(digest)


cdef int _add_intact(list found, dict message, set verified, look) except -1:
    """Add a message's marks whose text is known to be there; `look` is asked where one is not known."""
    cdef list listed = None
    cdef list marks = None
    cdef Py_ssize_t at
    injected = _injected(message)
    if isinstance(injected, list) and <list>injected:
        listed = <list>injected
    content = _get(message, "content")
    if isinstance(content, list):
        for part in <list>content:
            mark = _injected(<dict>part) if isinstance(part, dict) else None
            if mark is None:
                continue
            if not _known(mark, _get(<dict>part, "text"), verified):
                found.extend(look(message))
                return 0
            if marks is None:
                marks = []
            marks.append(mark)
        if listed is not None and not _same_ids(listed, marks):
            found.extend(look(message))
            return 0
    elif listed is not None:
        for mark in listed:
            if not _known(mark, content, verified):
                found.extend(look(message))
                return 0
        marks = listed
    if marks is not None:
        found.extend(marks)
    return 0


cdef bint _same_ids(list listed, list marks) except -1:
    """Whether each mark of a message is that of one of its parts, too. Most often they are the same, in order."""
    cdef Py_ssize_t at
    cdef set ids
    if marks is None:
        return False
    if len(listed) == len(marks):
        for at in range(len(marks)):
            if not _has_id(listed[at]) or _get(<dict>listed[at], "id") != _get(<dict>marks[at], "id"):
                break
        else:
            return True
    ids = {_get(<dict>mark, "id") for mark in marks}
    for mark in listed:
        if not (_has_id(mark) and _get(<dict>mark, "id") in ids):
            return False
    return True


cdef bint _known(mark, text, set verified) except -1:
    """Whether this text was found to hold the whole of the mark's."""
    if not _has_id(mark) or not isinstance(text, str):
        return False
    digest = _get(<dict>mark, "digest")
    return isinstance(digest, str) and _text_key(text, digest) in verified


cdef bint _has_id(mark):
    return isinstance(mark, dict) and isinstance(_get(<dict>mark, "id"), str)


def gather_records(list marks, str source):
    cdef dict records = {}
    cdef list others = []
    cdef dict mark
    cdef Py_ssize_t at
    for raw in marks:
        mark = <dict?>raw
        if _get(mark, "source") != source:
            continue
        ids, versions, withdrawn = _words(mark, "record_ids"), _words(mark, "versions"), _words(mark, "withdrawn")
        if ids is None or versions is None or withdrawn is None:
            return None
        for gone in <list>withdrawn:
            records.pop(gone, None)
        for at in range(len(<list>ids)):
            records[(<list>ids)[at]] = (<list>versions)[at] if at < len(<list>versions) else ""
        others.append(mark)
    return records, others


cdef list _EMPTY = []


cdef _words(dict mark, str key):
    """The list of strings under a key, an empty one where the key is not there; None for anything else."""
    cdef PyObject* value = PyDict_GetItemWithError(mark, key)
    if value is NULL:
        return _EMPTY
    if not isinstance(<object>value, list):
        return None
    for item in <list><object>value:
        if not isinstance(item, str):
            return None
    return <object>value


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
        content = (<dict?>message).get("content")
        if isinstance(content, list):
            for part in <list>content:
                count += _with_key(part, key)
    return count


cdef Py_ssize_t _with_key(part, str key) except -1:
    """Whether a part has the key, and how many of the parts of the tool result that it is."""
    cdef Py_ssize_t count
    if not isinstance(part, dict):
        return 0
    count = key in <dict>part
    if _is(<dict>part, "type", "tool_result"):
        inner = (<dict>part).get("content")
        if isinstance(inner, list):
            for each in <list>inner:
                count += isinstance(each, dict) and key in each
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
    content = _get(message, "content")
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
            part = _without_own_keys(<dict>part)
            if keyed and kind == "text" and len(<dict>part) > 1:
                return None
        parts.append(part)
    return parts


cdef _kind(dict part, dict kinds, bint keyed):
    """The kind of a part that has one; None where it is unknown, or not named by its first key."""
    if not keyed:
        name = _get(part, "type")
        return kinds.get(name) if isinstance(name, str) else None
    for name in part:
        return kinds.get(name)
    return None


cdef bint _has_text(dict part):
    text = _get(part, "text")
    return isinstance(text, str) and len(<str>text) > 0


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
    metadata = _get(raw, "metadata")
    return _get(<dict>metadata, "injected") if isinstance(metadata, dict) else None


cdef bint _is(dict raw, str key, str word):
    value = _get(raw, key)
    return isinstance(value, str) and value == word
