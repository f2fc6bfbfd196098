"""Globs: what they match, against a plain reference, and that none of them takes longer than it is."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_rank.qmd.index.patterns import MOST_CHARACTERS, PatternError, matcher
from tests.reference.files.globs import matches as reference


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("**/*.md", "a.md", True),
        ("**/*.md", "a/b/c.md", True),
        ("*.md", "a/b.md", False),
        ("*.md,docs/**", "docs/a/b.txt", True),
        ("notes/*.{md,txt}", "notes/a.txt", True),
        ("notes/*.{md,txt}", "notes/a.rst", False),
        ("n?te[sz].md", "notez.md", True),
        ("n?te[!s].md", "notes.md", False),
        ("**/2026-*/*.md", "log/2026-06/a.md", True),
        ("a+b (1).md", "a+b (1).md", True),
        ("", "a.md", False),
        ("{a,{b,c}}.md", "c.md", True),
        ("{a,{b,c}}/**", "b/x/y.md", True),
        ("{a,b/*}.md", "b/c.md", True),
        ("{open.md", "{open.md", True),
        ("[open.md", "[open.md", True),
        ("[!]", "[!]", True),
        ("./a.md", "a.md", True),
        ("**.md", "a/b.md", True),
        ("a**c.md", "ab/b/bc.md", True),
        ("a\nb*", "a\nbc", True),
    ],
)
def test_what_matches(pattern, path, expected):
    assert matcher(pattern)(path) is expected


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "?", "*", "**", "/", "**/", "/**"]), max_size=7).map("".join),
    st.text("ab/", min_size=1, max_size=9),
)
def test_as_the_reference(glob, path):
    names = glob.removeprefix("./").strip()
    if "" in path.split("/") or "" in names.split("/") or re.search(r"/\*\*+$", names):
        return  # no path has an empty name; what ends with /** is asked about below
    assert matcher(names)(path) is reference(names, path), (names, path)


@given(st.text("ab/", min_size=1, max_size=9))
def test_a_whole_folder(path):
    assert matcher("a/**")(path) is (path == "a" or path.startswith("a/"))


@pytest.mark.parametrize(
    "pattern", ["[z-a]*", "x[a-cz-b]", "{" + ",".join(["a" * 50] * 2000) + "}", "{a,b}" * 30]
)
def test_what_is_no_pattern(pattern):
    with pytest.raises(PatternError):
        matcher(pattern)


def seconds(pattern, path):
    """The least of several runs."""
    least = float("inf")
    for _ in range(3):
        started = time.perf_counter()
        matcher(pattern)(path)
        least = min(least, time.perf_counter() - started)
    return least


DEEP = "/".join(f"dir{n}" for n in range(16)) + "/deep.md"


@pytest.mark.parametrize(
    ("piece", "end", "path"),
    [
        ("**/", "zz*q", DEEP),
        ("*", "q", DEEP),
        ("*a", "*b", "a" * 200),
        ("**/*a/", "b", "a/" * 60 + "a"),
        ("?", "", "a" * 200),
        ("{", "}", "x"),
        ("[", "]", "x"),
    ],
)
def test_time_grows_with_the_pattern_and_no_faster(piece, end, path):
    """Sixteen times the pattern: a matcher that goes back would not end in this century."""
    short, long = (piece * times + end for times in (8, 128))
    assert len(long) <= MOST_CHARACTERS
    assert seconds(long, path) < 16 * 16 * seconds(short, path)
