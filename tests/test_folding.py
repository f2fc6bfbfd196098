"""One folding for records, queries, scope and full-text search; scripts without spaces are cut into pairs."""

from __future__ import annotations

import sqlite3
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_rank._core.negative_scope import PhraseAutomaton, is_unspaced
from pi_rank.folding import TOKENIZER, count_unspaced, document_text, folded, query_text
from pi_rank.ranking.analysis import FtsAnalyzer
from pi_rank.ranking.lexical import LexicalIndex

ANALYZER = FtsAnalyzer()
NO_TIES = np.zeros(2, np.int32)
# (what a record holds, what finds it)
FOUND = [
    ("Straße gesperrt", "strasse"),
    ("STRASSE gesperrt", "straße"),
    ("ＡＢＣ−１２ is on", "abc"),
    ("the ﬁle ﬂag", "file"),
    ("kapı açık", "kapi"),
    ("İstanbul office", "istanbul"),
    ("ο δρόμος", "ΔΡΌΜΟΣ"),
    ("so\u00adft\u00adware update", "software"),
    ("שָׁלוֹם לכולם", "שלום"),
    ("كِتَابٌ جديد", "كتاب"),
    ("数据库迁移必须在发布之前", "迁移"),
    ("数据库迁移必须在发布之前", "发布之前"),
    ("テストを実行する", "実行"),
    ("ฐานข้อมูลรีสตาร์ททุกวันอาทิตย์", "ข้อมูล"),
    ("데이터베이스를 백업한다", "데이터베이스"),
    ("데이터베이스를 백업한다", "데이터베이스가"),
    ("팀은 금요일에 배포한다", "팀"),
    ("팀은 금요일에 배포한다", "팀이"),
    ("हिन्दी भाषा", "हिन्दी"),
]


@pytest.mark.parametrize(("statement", "query"), FOUND)
def test_words_meet_however_they_are_written(statement, query):
    index = LexicalIndex.build(ANALYZER.document_terms([(statement, ""), ("something else", "")]))
    rows, _ = index.search(ANALYZER.query_terms(query), 2, eligible=None, tie_rank=NO_TIES)
    assert rows.tolist() == [0]
    database = sqlite3.connect(":memory:")
    database.execute(f'CREATE VIRTUAL TABLE f USING fts5(text, tokenize = "{TOKENIZER}")')
    database.executemany("INSERT INTO f VALUES (?)", [(document_text(statement),), ("something else",)])
    match = ANALYZER.fts_query(query)
    assert database.execute("SELECT rowid FROM f WHERE f MATCH ?", (match,)).fetchall() == [(1,)]
    database.close()


@pytest.mark.parametrize(("statement", "query"), [pair for pair in FOUND if " " not in pair[1]][:10])
def test_phrases_of_scope_are_folded_alike(statement, query):
    assert folded(query).lower() in folded(statement).lower() or query == "ΔΡΌΜΟΣ"
    rows, _ = PhraseAutomaton.build([[query]]).match([folded(query)])
    assert rows.tolist() == [0]


def test_runs_become_pairs():
    assert document_text("部署前 run").split() == ["部署", "署前", "前", "run"]
    assert query_text("部署前 run").split() == ["部署", "署前", "run"]
    assert query_text("部").split() == document_text("部").split() == ["部"]
    assert document_text("ที่ทำ").split()[0] == "ที่ทํ"  # a letter and the marks upon it are one
    assert document_text("API를").split() == ["api", "를"]
    assert document_text("plain TEXT") == "plain TEXT"
    assert count_unspaced("部署 run ๑ 팀") == 2


@given(st.text(max_size=30))
def test_folding_twice_is_folding_once(text):
    assert folded(folded(text)) == folded(text)


def test_unspaced_letters_are_those_of_negative_scope():
    different = [
        chr(code)
        for code in range(0x80, sys.maxunicode, 7)
        if not 0xD800 <= code <= 0xDFFF and count_unspaced(chr(code)) != is_unspaced(chr(code))
    ]
    assert different == []
