"""The command line as qmd reads it, and queries that begin with dashes."""

from __future__ import annotations

import pytest

from pi_rank.qmd.arguments import parse
from pi_rank.qmd.errors import QmdError


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["vsearch", "--json", "-c", "c", "-n", "5", "--help me"], ["--help me"]),
        (["search", "-deploy"], ["-deploy"]),
        (["search", "deploy", "-rollback"], ["deploy", "-rollback"]),
        (["search", "--json", "-- ", "x"], ["-- ", "x"]),
        (["search", "--json", "--", "--json", "-n"], ["--json", "-n"]),
        (["search", "--no-such-flag", "x"], ["x"]),
        (["search", "x", "-n"], ["x", "-n"]),
        (["search", "-"], ["-"]),
        (["vsearch", "a\nb"], ["a\nb"]),
        (["vsearch", "--format=json", "--intent=fast pages", "x"], ["x"]),
        (["query", "lex: a\nvec: b"], ["lex: a\nvec: b"]),
    ],
)
def test_what_is_the_query(argv, words):
    assert parse(argv).words[1:] == words


def test_flags():
    arguments = parse(
        ["search", "x", "-c", "a", "--collection", "b", "-n", "7", "--json", "--min-score", "0.5"]
    )
    assert arguments.values["collection"] == ["a", "b"]
    assert arguments.number("count", 5) == 7
    assert arguments.min_score == 0.5
    assert arguments.format == "json"


@pytest.mark.parametrize("text", ["0", "abc", "-1", "1.5", "", "²", "99999999999"])
def test_a_number_that_is_none_means_the_default(text):
    assert parse(["search", "-n", text, "x"]).number("count", 5) == 5


@pytest.mark.parametrize("text", ["abc", "nan", ""])
def test_a_least_score_that_is_none_means_zero(text):
    assert parse(["search", "--min-score", text, "x"]).min_score == 0


def test_unknown_flags_are_kept_for_a_warning():
    assert parse(["update", "--pull", "-c", "x"]).unknown == ["--pull"]
    assert parse(["search", "--fast", "x"]).unknown == ["--fast"]


def test_an_unknown_format_is_an_error():
    with pytest.raises(QmdError, match="Unknown --format value: yaml\nValid: cli, json"):
        _ = parse(["search", "--format", "yaml", "x"]).format


def test_help_is_asked_for_before_a_query_only():
    assert "help" in parse(["search", "--help"]).switches
    assert "help" in parse(["--help"]).switches
    assert "help" not in parse(["search", "how", "--help"]).switches
