"""Selected records in a budget: what does not fit is skipped, what is long is shortened to its passage."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pi_rank.block.budget import more_line
from pi_rank.block.choose import LEAST_BYTES, SHORTENED, WHOLE_BYTES, choose_lines
from pi_rank.block.lines import Line
from pi_rank.block.passage import passage_start

FILLER = "The weekly meeting went through the usual list of open points and nobody had anything to add. "
LONG = FILLER * 20 + "The proxy certificate is renewed by the platform team. " + FILLER * 20


def test_what_does_not_fit_is_skipped_and_later_lines_are_shown():
    lines = [Line("- a ", "x" * 500), Line("- b ", "y" * 700), Line("- c ", "z" * 100)]
    chosen = choose_lines(lines, 1_000, "anything")
    assert chosen.shown == (0, 2)
    assert chosen.text == f"- a {'x' * 500}\n- c {'z' * 100}\n{more_line(1)}"


def test_a_long_record_is_shortened_to_the_passage_that_is_asked_for():
    lines = [Line("- a ", "short"), Line("- b ", LONG), Line("- c ", "also short")]
    chosen = choose_lines(lines, 1_000, "who renews the certificate of the proxy?")
    assert chosen.shown == (0, 1, 2)
    shortened = chosen.text.splitlines()[1]
    assert shortened.startswith("- b …") and shortened.endswith(SHORTENED)
    assert "The proxy certificate is renewed by the platform team." in shortened
    assert len(chosen.text.encode()) <= 1_000


def test_twelve_long_records_have_a_share_each():
    chosen = choose_lines([Line(f"- {n} ", LONG) for n in range(12)], 6_000, "certificate")
    assert chosen.shown == tuple(range(12))
    assert all("certificate" in line for line in chosen.text.splitlines())


def test_a_rule_of_ordinary_length_is_never_cut():
    lines = [Line(f"- {n} ", "w" * (WHOLE_BYTES - 20)) for n in range(12)]
    chosen = choose_lines(lines, 6_000, "w")
    assert SHORTENED not in chosen.text
    assert chosen.shown == tuple(range(7))


def test_a_record_without_the_words_is_shown_from_its_beginning():
    assert passage_start(LONG, "zebra", 100) == 0
    assert LONG[passage_start(LONG, "proxy certificate", 200) :].startswith("The proxy certificate")


@given(
    st.lists(
        st.tuples(st.sampled_from(["- mem_a [L2] ", "- é "]), st.text("ab é数\u0301🙂.", max_size=2_000)),
        max_size=8,
    ),
    st.integers(0, 3_000),
    st.sampled_from(["", "ab", "数 é"]),
)
def test_the_budget_holds_and_the_order_stays(lines, budget, query):
    chosen = choose_lines([Line(*line) for line in lines], budget, query)
    assert len(chosen.text.encode()) == chosen.size <= budget or not chosen.shown
    assert list(chosen.shown) == sorted(set(chosen.shown))
    assert chosen.text.count("\n") >= len(chosen.shown)
    if sum(len(f"{label}{text}\n".encode()) for label, text in lines) <= budget:
        assert len(chosen.shown) == len(lines)


def test_a_share_is_never_less_than_a_passage():
    chosen = choose_lines([Line(f"- {n} ", LONG) for n in range(40)], 6_000, "certificate")
    assert len(chosen.shown) == 12
    assert all(len(line.encode()) <= LEAST_BYTES for line in chosen.text.splitlines())
