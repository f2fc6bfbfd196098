"""Histories as hypothesis makes them: well-formed, then spoiled in a place or two."""

from __future__ import annotations

from collections import OrderedDict, UserDict
from functools import cache

from hypothesis import strategies as st

from pi_rank.injection.history.dialects import PART_TYPES, STRANDS_KEYS
from pi_rank.injection.history.marks import RENDERINGS, text_digest


class Word(str):
    """A string that is not exactly a `str`."""

    __slots__ = ()


ABSENT = object()
ODD = st.sampled_from(
    [
        *(ABSENT, None, True, 0, 1.5, 2.0, "", "text", Word("text"), Word("user"), ("a",), frozenset("a")),
        *(
            [],
            ["text"],
            ["toolUse"],
            ["a", 1],
            ["a", Word("b")],
            [["a"]],
            {},
            {"a": {}},
            {1: 2},
            {"text": "x"},
        ),
    ]
)
IDS = st.sampled_from(["a", "b", "c", "d"])
LISTS = st.lists(IDS, max_size=4)
TEXTS = st.sampled_from(["x", "\n", "two\nlines", "部署", "hi", ""])


@st.composite
def spoiled(draw, usual, extra=()):
    """A dict; one in five has a value of another kind in it, or a key too many or too few."""
    raw = dict(draw(usual))
    keys = [*raw, *extra]
    if keys and seldom(draw):
        key, value = draw(st.sampled_from(keys)), draw(ODD)
        if value is ABSENT:
            raw.pop(key, None)
        else:
            raw[key] = value
    return raw


def seldom(draw):
    return draw(st.sampled_from([False, False, False, False, True]))


MARKS = spoiled(
    st.fixed_dictionaries(
        {
            "source": st.sampled_from(["pi", "pi", "other"]),
            "id": IDS,
            "digest": TEXTS.map(text_digest),
            "rendering": st.sampled_from(["text", "text", "text", "text", *RENDERINGS]),
            "record_ids": LISTS,
            "versions": LISTS,
        },
        optional={
            "withdrawn": LISTS,
            "sections": st.dictionaries(IDS, IDS, max_size=2),
            "created_at": st.just("2026-05-20T00:00:00+00:00"),
            "start": st.integers(0, 3),
            "chars": st.integers(0, 3),
            "per_call": st.booleans(),
            "quarantined": st.just("2026-05-20"),
            "quarantined_digest": IDS,
            "newer": ODD,
        },
    ),
    extra=["withdrawn", "sections", "per_call"],
)


def metadata(injected):
    """What stands under `metadata`."""
    usual = st.fixed_dictionaries({"injected": injected}, optional={"mine": st.just(1)})
    return spoiled(usual, extra=["mine"])


OWN_KEYS = st.fixed_dictionaries(
    {}, optional={"metadata": metadata(MARKS), "tracking_id": st.just("t"), "cache_control": st.just({})}
)
MESSAGE_KEYS = st.fixed_dictionaries(
    {}, optional={"metadata": metadata(st.lists(MARKS, max_size=2)), "tracking_id": st.just("t")}
)


@st.composite
def part(draw, dialect):
    """A content part, with or without keys of ours; one in five is spoiled, reordered, of another type."""
    if dialect == "strands":
        usual = {draw(st.sampled_from([*["text"] * 8, *STRANDS_KEYS])): draw(TEXTS)}
    else:
        kind = draw(st.sampled_from([*["text"] * 8, *PART_TYPES[dialect]]))
        usual = {"type": kind, "text": draw(TEXTS)}
    usual |= draw(OWN_KEYS) if draw(st.booleans()) else {}
    if not seldom(draw):
        return usual
    odd = draw(spoiled(st.just(usual), extra=["type", "text", "image"]))
    reversed_part = dict(reversed(usual.items()))
    return draw(
        st.sampled_from([odd, odd, reversed_part, OrderedDict(usual), UserDict(usual), None, "x", ["text"]])
    )


@st.composite
def message(draw, dialect):
    """A message: plain, marked or half-written."""
    content = draw(st.lists(part(dialect), min_size=1, max_size=3))
    role = draw(st.sampled_from(["user", "user", "assistant", "assistant", "tool", "system"]))
    usual = {"role": role, "content": content, **(draw(MESSAGE_KEYS) if role == "user" else {})}
    if not seldom(draw):
        return usual
    odd = draw(spoiled(st.just(usual), extra=["metadata", "tool_calls", "type"]))
    return draw(st.sampled_from([odd, odd, OrderedDict(usual), {**usual, "content": draw(TEXTS)}, None]))


@cache
def histories(dialect):
    """Up to four messages."""
    return st.lists(message(dialect), max_size=4)


MARK = {"source": "pi", "id": "a", "digest": text_digest("x"), "rendering": "text"}
TWO_KEYS = ("strands", [{"role": "user", "content": [{"text": "x", "image": {}}]}])
CALLS_BESIDE = (
    "anthropic",
    [{"role": "assistant", "content": [{"type": "text", "text": "x"}], "tool_calls": [{"id": "c"}]}],
)
FOR_THIS_CALL = (
    "anthropic",
    [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "hi"},
                {"type": "text", "text": "x", "metadata": {"injected": {**MARK, "per_call": True}}},
            ],
        }
    ],
)
