"""Words, phrases, exclusions, and documents of typed lines."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_rank.folding import TOKENIZER, document_text
from pi_rank.qmd.errors import QmdError
from pi_rank.qmd.shelves.query_language import (
    MAX_TERMS,
    match_all,
    natural_language,
    parse_document,
    parse_lexical,
)


def match(text):
    return match_all(parse_lexical(text))


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("deploy friday", '"deploy"* AND "friday"*'),
        ('"on friday" deploy', '"on friday" AND "deploy"*'),
        ("deploy -rollback", '("deploy"*) NOT ("rollback"*)'),
        ('deploy -"roll back" -x', '("deploy"*) NOT ("roll back" OR "x"*)'),
        ("multi-agent 2026.4.10", '"multi-agent"* AND "2026.4.10"*'),
        ("deploy deploy", '"deploy"*'),
        ("-deploy", '"deploy"*'),
        ("--help me", '"help"* AND "me"*'),
        ("部署前", '"部署 署前"*'),
        ("- ??? 🚀", ""),
        ("", ""),
    ],
)
def test_expressions(text, expression):
    assert match(text) == expression


def test_only_so_many_terms_count():
    assert len(parse_lexical(" ".join(f"word{n}" for n in range(20_000))).wanted) == MAX_TERMS


@given(st.text(st.sampled_from('ab"-*():^ \0\n,.NOTANDOR部é\ud83d'), max_size=40))
def test_fts5_understands_every_expression(text):
    expression = match(text.replace("\ud83d", "\ufffd"))
    database = sqlite3.connect(":memory:")
    database.execute(f'CREATE VIRTUAL TABLE words USING fts5(body, tokenize = "{TOKENIZER}")')
    if expression:
        database.execute("SELECT * FROM words WHERE words MATCH ?", (expression,)).fetchall()
    database.close()


@pytest.mark.parametrize("query", ["部署", "部", "前", "署前", "部署前", "测试"])
def test_scripts_without_spaces_are_found_in_the_middle_of_a_run(query):
    database = sqlite3.connect(":memory:")
    database.execute(f'CREATE VIRTUAL TABLE words USING fts5(body, tokenize = "{TOKENIZER}")')
    database.execute("INSERT INTO words VALUES (?)", (document_text("我们部署前要测试服务"),))
    database.execute("INSERT INTO words VALUES (?)", (document_text("无关的句子"),))
    assert database.execute("SELECT rowid FROM words WHERE words MATCH ?", (match(query),)).fetchall() == [
        (1,)
    ]
    database.close()


def test_natural_language():
    assert natural_language("how do I deploy on a multi-agent system?")
    assert not natural_language('deploy "on friday"')
    assert not natural_language("deploy -rollback")


def test_documents():
    document = parse_document(
        "intent: web pages\nlex: cap theorem\nvec: what is\nHYDE: It says\nthat two of three."
    )
    assert document.intent == "web pages"
    assert document.searches == (
        ("lex", "cap theorem"),
        ("vec", "what is"),
        ("hyde", "It says\nthat two of three."),
    )
    assert parse_document("plain words: not typed") is None
    assert parse_document("  lex :  x ").searches == (("lex", "x"),)
    with pytest.raises(QmdError, match="An intent does not search"):
        parse_document("intent: nothing else")
