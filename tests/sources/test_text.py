"""Readers of text hold for any text: nothing is raised, lines are where they should be, time is linear."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_rank.sources.notes import is_said, plain, without_hidden
from pi_rank.sources.text.front_matter import read_front_matter
from pi_rank.sources.text.imports import read_imports
from pi_rank.sources.text.markdown import read_passages

MARKS = ["# ", "## ", "- ", "  - ", "1. ", "> ", "```", "~~~", "| a | b |", "|---|---|", "---", "===", "\t"]
MARKS.extend(
    ["<!--", "-->", "%%", "[[a]]", "![[b]]", "#tag", "[x] ", "[kind] ", "@a.md", "word", "Words:", "日本"]
)
LINES = st.lists(st.lists(st.sampled_from(MARKS), max_size=4).map("".join), max_size=25)


@settings(max_examples=200)
@given(LINES)
def test_passages_stand_where_they_say(lines):
    found = list(read_passages(lines, 1))
    numbers = [passage.line for passage in found]
    assert numbers == sorted(numbers)
    assert all(1 <= number <= len(lines) for number in numbers)
    assert all(passage.text == " ".join(passage.text.split()) != "" for passage in found)
    assert len(without_hidden(lines)) == len(lines)
    shifted = list(read_passages(lines, 11))
    assert [passage.line - 10 for passage in shifted] == numbers
    for passage in found:
        plain(passage.text)
        is_said(passage.text)


@given(LINES)
def test_front_matter_is_none_or_ends(lines):
    matter = read_front_matter(lines)
    assert 1 <= matter.body_line <= len(lines) + 1
    assert all(isinstance(value, str | list) for value in matter.values.values())


WORDS = st.text("abcXYZ -_/0é名", min_size=1, max_size=12).map(str.strip).filter(bool)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,8}", fullmatch=True),
        WORDS | st.lists(WORDS, min_size=1, max_size=3),
        max_size=5,
    )
)
def test_front_matter_reads_what_yaml_writes(values):
    yaml = pytest.importorskip("yaml", reason="PyYAML is the oracle here, and no part of ours")
    text = yaml.safe_dump(values, allow_unicode=True, width=10_000) if values else ""
    matter = read_front_matter(["---", *text.splitlines(), "---", "body"])
    assert dict(matter.values) == values


ITEMS = st.lists(
    st.sampled_from(["- one", "- two\n  more", "  - deep", "* star", "text", "", "# Head", "> quote"]),
    max_size=8,
)


@given(ITEMS)
def test_list_items_are_those_of_commonmark(blocks):
    markdown = pytest.importorskip(
        "markdown_it", reason="markdown-it-py is the oracle here, and no part of ours"
    )
    text = "\n".join(blocks)
    tokens = markdown.MarkdownIt().parse(text)
    expected = {token.map[0] + 1 for token in tokens if token.type == "list_item_open"}
    found = {passage.line for passage in read_passages(text.split("\n"), 1) if passage.item}
    assert found == expected


ODD = {
    "heading": "# " + " " * 50_000 + "x",
    "items": "- " * 50_000,
    "comments": "<!--" * 25_000,
    "table": "|" * 50_000,
    "code": "`" * 50_000,
    "at": "@" * 50_000,
    "links": "[[" * 25_000,
    "tags": "#a " * 25_000 + "x",
    "brackets": "(" * 50_000,
    "rule": "---" * 20_000 + "x",
    "keys": "a: " * 25_000,
    "hidden": "%%" * 25_000,
    "category": "[" + "a" * 50_000,
    "imports": "@a.md " * 10_000,
    "relation": "word " * 10_000 + "[[",
    "stars": "*" * 50_000,
    "fence": "~~~" * 20_000,
}


@pytest.mark.parametrize("name", ODD)
def test_odd_lines_take_time_by_their_length(name, tmp_path):
    line = ODD[name]

    def work(text):
        lines = ["---", text, "---", text, "- [kind] " + text, text]
        began = time.process_time()
        read_front_matter(lines)
        for passage in read_passages(without_hidden(lines), 1):
            is_said(passage.text)
            plain(passage.text)
        list(read_imports(lines, tmp_path / "a.md", tmp_path))
        return time.process_time() - began

    half = min(work(line[: len(line) // 2]) for _ in range(2))
    assert work(line) < max(6 * half, 0.2)
