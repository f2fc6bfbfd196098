"""Memories in several scripts: words are found inside runs, and a model that cannot read stays out of it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import benchmarks
from pi_rank import MemoryEngine, SessionContext
from tests.support.memory import write_root

LANGUAGES = Path(benchmarks.__file__).parent / "retrieval" / "data" / "languages.jsonl"
STATEMENTS = [
    *("数据库迁移必须在发布之前一个版本完成", "日志里不能出现用户手机号", "备份每周日凌晨恢复演练一次"),
    *("ฐานข้อมูลรีสตาร์ททุกวันอาทิตย์", "ห้ามเขียนเบอร์โทรในล็อก", "รีวิวโค้ดต้องมีสองคน"),
    *(
        f"The {team} team owns the {thing} service."
        for team in ("data", "web")
        for thing in ("login", "cache")
    ),
]


def opened(folder, records, **options):
    root = write_root(folder / "root", records)
    return MemoryEngine.open(root, store=folder / "store.sqlite3", **options)


def test_words_that_the_model_cannot_read_are_found_by_words_alone(tmp_path):
    records = [{"id": f"mem_{number}", "statement": text} for number, text in enumerate(STATEMENTS)]
    with opened(tmp_path, records) as engine:
        engine.sync()
        for word, only in (("数据库", "mem_0"), ("备份", "mem_2"), ("ฐานข้อมูล", "mem_3")):
            for mode in ("lexical", "hybrid"):
                assert [hit.id for hit in engine.search(word, mode=mode)][:1] == [only]
        nothing = engine.build_retrieval_context(SessionContext(latest_user_message="今天晚上吃什么好"))
        found = engine.build_retrieval_context(SessionContext(latest_user_message="备份什么时候做"))
        assert engine.search("今天晚上吃什么好") == []
    assert (nothing.stats["off_topic"], nothing.selected, nothing.mode) == (True, (), "none")
    assert nothing.stats["query_vector"] == "unreadable"
    assert (found.stats["off_topic"], found.selected[0].id) == (False, "mem_2")


def test_in_a_memory_of_ten_languages_both_halves_are_never_below_words_alone(tmp_path):
    rows = [json.loads(line) for line in LANGUAGES.read_text(encoding="utf-8").splitlines()]
    records = [{"id": f"{row['fact']}-{row['language']}", "statement": row["record"]} for row in rows]
    first, in_five = Counter(), Counter()
    with opened(tmp_path, records) as engine:
        engine.sync()
        for row in rows:
            for mode in ("lexical", "hybrid"):
                found = [hit.id for hit in engine.search(row["question"], k=5, mode=mode, abstain=False)]
                right = f"{row['fact']}-{row['language']}"
                first[row["language"], mode] += found[:1] == [right]
                in_five[row["language"], mode] += right in found
    for counts in (first, in_five):
        assert [key for key, _ in counts if counts[key, "hybrid"] < counts[key, "lexical"]] == []


@pytest.mark.parametrize(
    "statement", ["Straße gesperrt", "STRASSE gesperrt", "Ｓｔｒａｓｓｅ zu", "Stra\u00adße"]
)
def test_a_word_is_found_however_it_is_written(tmp_path, statement):
    with opened(tmp_path, [{"id": "a", "statement": statement}], model=None) as engine:
        engine.sync()
        assert [hit.id for hit in engine.search("strasse")] == ["a"]
        turn = engine.build_retrieval_context(SessionContext(latest_user_message="STRASSE"))
        assert [hit.id for hit in turn.selected] == ["a"]
