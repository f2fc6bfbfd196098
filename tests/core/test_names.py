"""Names: the compiled scanner, keys and search against strings compared in plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_rank._core import names
from tests.reference import names as reference

WORDS = [
    "get",
    "user",
    "User",
    "by",
    "By",
    "Id",
    "ID",
    "HTTP",
    "4521",
    "7",
    "0x8f",
    "größe",
    "错误",
    "x",
    "the",
    "IDs",
]
NAMES = [
    *(
        "getUserById",
        "user_by_id",
        "get user id",
        "userID",
        "JIRA-4521",
        "#4521",
        "4521",
        "`e-mail`",
        "e-mail",
    ),
    *(
        "src/a7/b.py",
        "a7/b.py",
        "src/a7/c.py",
        "b.py:7",
        "3.11.4",
        "utf8",
        "utf-8",
        "e2e-test-7",
        "--no-verify",
    ),
]
texts = st.lists(
    st.one_of(
        st.sampled_from(NAMES).map(" {} ".format),
        st.sampled_from(WORDS),
        st.sampled_from([*reference.MARKS, " ", " ", ", ", "\u00ad", "，"]),
    ),
    max_size=14,
).map("".join)
any_text = st.one_of(texts, st.text(max_size=30))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0x80070005 and JIRA-4521, foo_bar.", ["0x80070005", "JIRA-4521", "foo_bar"]),
        ("see (tests/e2e/login.spec.ts) in 3.11.4!", ["tests/e2e/login.spec.ts", "3.11.4"]),
        ("getUserById HTTPServer IDs", ["getUserById", "HTTPServer"]),
        ("#12, 12, --no-verify, @acme/kit, C++, C#", ["#12", "--no-verify", "@acme/kit", "C++", "C#"]),
        ("and/or n/a e.g. up to date. Next - thing", []),
        ("错误0x80070005发生 JIRA-4521을", ["0x80070005", "JIRA-4521을", "JIRA-4521"]),
        ("ＪＩＲＡ－４５２１", ["JIRA-4521"]),
        ("", []),
    ],
)
def test_what_a_name_is(text, found):
    assert names.names_in(text) == found


@given(any_text)
def test_names_are_those_of_the_reference(text):
    assert names.names_in(text) == reference.names_in(text)


def found_by(segments, query, eligible):
    hits = names.find(tuple(names.Segment(each) for each in segments), query, eligible)
    if hits is None:
        return {}
    rows, shares, whole = (each.tolist() for each in hits)
    return {row: (share, bool(own)) for row, share, own in zip(rows, shares, whole, strict=True)}


@given(st.lists(texts, max_size=8), texts, st.data())
def test_rows_are_those_of_the_reference(records, query, data):
    if records and data.draw(st.booleans()):
        query += " " + data.draw(st.sampled_from(records))
    eligible = np.array(
        data.draw(st.lists(st.integers(0, 1), min_size=len(records), max_size=len(records))), np.uint8
    )
    split = data.draw(st.integers(0, len(records)))
    segments = (names.build(records[:split]), names.build(records[split:], split))
    expected = reference.find(records, query, eligible)
    assert found_by(segments, query, eligible) == expected
    assert found_by((names.merge(*segments),), query, eligible) == expected


def test_merged_entries_are_those_of_one_build():
    records = ["a_1 b_2", "b_2", "c_3 a_1", ""]
    merged = names.merge(names.build(records[:2]), names.build(records[2:], 2))
    for one, other in zip(merged, names.build(records), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_name_that_most_records_hold_tells_nothing_apart():
    records = ["see foo_bar"] * 101 + ["foo_bar_baz"]
    segments = (names.build(records),)
    assert found_by(segments, "foo_bar", np.ones(102, np.uint8)) == {101: (4.0, True)}
    eligible = np.ones(102, np.uint8)
    eligible[:50] = 0
    assert len(found_by(segments, "foo_bar", eligible)) == 52


def test_a_pasted_log_is_read_to_its_sixty_fourth_name():
    records = [f"log_{number}" for number in range(200)]
    found = found_by((names.build(records),), " ".join(records), np.ones(200, np.uint8))
    assert list(found) == list(range(64))


@given(
    st.lists(st.integers(0, 30), unique=True, max_size=12),
    st.dictionaries(
        st.integers(0, 30), st.tuples(st.sampled_from([0.0, 2.0, 4.0, 6.0]), st.booleans()), max_size=8
    ),
)
def test_named_rows_come_first(ranked, named):
    rows = sorted(named)
    shares, returning = [named[row][0] for row in rows], [named[row][1] for row in rows]
    found = names.put_first(
        np.array(ranked, np.int32),
        np.array(rows, np.int32),
        np.array(shares, np.float64),
        np.array(returning, np.uint8),
    )
    assert tuple(each.tolist() for each in found) == reference.put_first(ranked, rows, shares, returning)


def test_taken_and_joined():
    places = np.array([2, -1, 0], np.int32)
    assert names.taken(np.array([5, 6, 7], np.int32), places).tolist() == [7, 0, 5]
    assert names.taken(np.array([0.5, 1.5, 2.5]), places).tolist() == [2.5, 0.0, 0.5]
    words = np.array([4, 2], np.int32)
    assert names.joined(words, np.array([1, 2, 9], np.int32)).tolist() == [4, 2, 1, 9]
    assert names.joined(words, np.array([2, 4], np.int32)) is words


def test_bad_arrays_are_refused():
    with pytest.raises(ValueError, match="1 keys of names, but 0 rows"):
        names.Segment((np.zeros(1, np.int64), np.zeros(0, np.int32)))
    with pytest.raises(TypeError):
        names.build([b"bytes"])
    with pytest.raises(ValueError, match="shares"):
        names.put_first(np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(2), np.zeros(1, np.uint8))
