"""The lines that answer a query."""

from __future__ import annotations

from pi_rank.qmd.search.snippet import extract, numbered

BODY = "\n".join(
    f"line {n} {'target' if n in (5, 9) else ''}{' friday' if n == 9 else ''}" for n in range(1, 13)
)


def test_the_line_with_most_words_and_its_neighbours():
    line, text = extract(BODY, ["TARGET", "friday"], 300)
    assert line == 9
    assert text.splitlines()[0] == "@@ -8,4 @@ (7 before, 1 after)"
    assert text.splitlines()[2] == "line 9 target friday"


def test_the_first_of_equals_and_the_first_line_of_all():
    assert extract(BODY, ["target"], 300).line == 5
    line, text = extract(BODY, ["line 1 "], 300)
    assert (line, text.splitlines()[0]) == (1, "@@ -1,3 @@ (0 before, 9 after)")


def test_the_end_of_the_text():
    assert extract("a\nb\ntarget\n", ["target"], 300).text == "@@ -2,3 @@ (1 before, 0 after)\nb\ntarget\n"


def test_long_lines_are_cut():
    text = extract("x" * 1000, ["x"], 300).text.partition("\n")[2]
    assert text == "x" * 297 + "..."


def test_within_a_span():
    start = BODY.index("line 9")
    assert extract(BODY, ["target"], 300, (start, len(BODY))).line == 9
    assert extract("# T\n\n\n\ntext\nmore", [], 300, (4, 16)).line == 5, "blank lines say nothing"


def test_numbered():
    assert numbered("a\nb\n", 4) == "4: a\n5: b\n6: "
