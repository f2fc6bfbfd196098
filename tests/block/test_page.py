from __future__ import annotations

import pytest

from pi_rank.block.lines import Line
from pi_rank.block.page import TITLE, Page, fill_page
from pi_rank.errors import ConfigError

THREE = [Line("", text * 40) for text in "abc"]


def test_a_cap_bounds_its_section_and_leaves_the_page_open():
    page = Page(1_000)
    assert page.add("first", "First", THREE, cap=9 + 41 + 21) == 1
    assert page.add("second", "Second", THREE) == 3
    assert page.omitted == {"first": 2}
    first = f"## First\n{'a' * 40}\n… 2 more not shown\n"
    second = f"## Second\n{'a' * 40}\n{'b' * 40}\n{'c' * 40}\n"
    assert page.markdown() == f"{TITLE}\n{first}\n{second}"


def test_the_end_of_the_page_closes_it():
    page = Page(len(TITLE) + 1 + 9 + 41 + 21)
    assert page.add("first", "First", THREE) == 1
    assert page.add("second", "Second", [Line("", "x")]) == 0
    assert (page.omitted, page.unsaid, page.offered) == ({"first": 2, "second": 1}, 1, 4)


def test_the_preface_is_counted_and_never_stands_alone():
    page = Page(1_000)
    assert page.add("notes", "Notes", [], preface="Sessions today: 1\n") == 0
    assert page.markdown() == ""
    assert page.add("notes", "Notes", THREE, cap=9 + 18 + 41 + 21, preface="Sessions today: 1\n") == 1
    assert page.markdown().startswith(f"{TITLE}\n## Notes\nSessions today: 1\naaa")


def test_what_is_left_out_whole_is_said_within_the_budget():
    def write(page):
        return page.add("first", "First", THREE[:1]), page.add("second", "Second", THREE)

    budget = len(TITLE) + 1 + 9 + 41 + 30
    text, page, shown = fill_page(write, budget)
    assert text == f"{TITLE}\n## First\n{'a' * 40}\n\n… 3 more not shown\n"
    assert len(text.encode()) <= budget
    assert (shown, page.omitted) == ((1, 0), {"second": 3})


def test_negative_budget():
    with pytest.raises(ConfigError, match="max_bytes is -1; a block needs 0 or more bytes"):
        fill_page(lambda page: None, -1)
