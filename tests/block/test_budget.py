from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_rank.block.budget import byte_length, fit_lines, shorten
from pi_rank.block.graphemes import is_boundary
from pi_rank.block.lines import Line

NUMBERED = [Line(f"- {i} ", "x" * 20) for i in range(10)]


def _lines(*texts):
    return [Line("", text) for text in texts]


def test_all_fit():
    assert fit_lines(_lines("ab", "部"), 7) == ("ab\n部\n", 7, 2)
    assert fit_lines([], 0) == ("", 0, 0)


def test_cut_falls_between_lines_and_is_said():
    text = "".join(f"- {i} {'x' * 20}\n" for i in range(3)) + "… 7 more not shown\n"
    assert fit_lines(NUMBERED, 100) == (text, 96, 3)


def test_cut_from_the_end_keeps_the_last():
    text = "… 8 more not shown\n" + "".join(f"- {i} {'x' * 20}\n" for i in (8, 9))
    assert fit_lines(NUMBERED, 75, keep="last") == fit_lines(NUMBERED, 75, keep="tail") == (text, 71, 2)


def test_one_long_line_is_cut_inside():
    assert fit_lines([Line("- a ", "部署" * 50)], 20) == ("- a 部署部署…\n", 20, 1)
    assert fit_lines(_lines("0123456789"), 8, keep="last") == ("0123…\n", 8, 1)
    assert fit_lines(_lines("0123456789"), 8, keep="tail") == ("…6789\n", 8, 1)


def test_a_long_line_leaves_room_for_the_others():
    lines = _lines("a" * 9_000, "b", "c")
    fitted = fit_lines(lines, 2_000)
    assert fitted.shown == 3
    assert fitted.text.splitlines()[1:] == ["b", "c"]
    assert 980 < len(fitted.text.splitlines()[0].encode()) <= 1_000


def test_a_label_is_never_cut():
    assert fit_lines([Line("- mem_abc [L2] ", "statement")], 18) == ("", 0, 0)
    assert fit_lines([Line("- mem_abc [L2] ", "statement")], 20).text == "- mem_abc [L2] s…\n"


@pytest.mark.parametrize("budget", [-50, -1, 0, 1, 10, 21])
def test_no_room(budget):
    assert fit_lines(_lines("a" * 30, "b" * 30), budget) == ("", 0, 0)


def test_shorten_says_where():
    assert shorten(Line("- ", "abcdef"), 8) == "- abc…\n"
    assert shorten(Line("- ", "abcdef"), 8, from_end=True) == "- …def\n"
    assert shorten(Line("- ", "é́x"), 6) == ""


LINES = st.lists(
    st.builds(Line, st.sampled_from(["", "- ", "⚠️ A: "]), st.text("a部🚀é\u0301👩\u200d", max_size=40)),
    max_size=12,
)


@given(LINES, st.integers(-10, 400), st.sampled_from(["first", "last", "tail"]))
def test_never_over_budget_and_whole_characters(lines, budget, keep):
    fitted = fit_lines(lines, budget, keep=keep)
    assert fitted.size == byte_length(fitted.text) <= max(budget, 0)
    written = fitted.text.splitlines()
    assert len(written) == fitted.shown + (0 < fitted.shown < len(lines))
    if 0 < fitted.shown < len(lines):
        assert written.pop(-1 if keep == "first" else 0) == f"… {len(lines) - fitted.shown} more not shown"
    kept = lines[: fitted.shown] if keep == "first" else lines[len(lines) - fitted.shown :]
    for line, text in zip(kept, written, strict=True):
        assert text.startswith(line.label)
        _assert_cut_between_characters(line.text, text.removeprefix(line.label), keep == "tail")


def _assert_cut_between_characters(whole, shown, from_end):
    if shown == whole:
        return
    kept = shown.removeprefix("…") if from_end else shown.removesuffix("…")
    assert kept
    assert whole.endswith(kept) if from_end else whole.startswith(kept)
    assert is_boundary(whole, len(whole) - len(kept) if from_end else len(kept))
