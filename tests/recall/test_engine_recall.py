"""The engine as a memory: presentation and provenance come from the record."""

from __future__ import annotations

import asyncio
import json

import pytest

from pi_rank.context import SessionContext
from pi_rank.engine import MemoryEngine
from pi_rank.errors import ConfigError
from pi_rank.memory.records import Evidence, MemoryRecord
from pi_rank.recall.engine_recall import EngineRecall
from pi_rank.recall.rows import memory_hit, presentation
from pi_rank.results import Hit
from tests.recall.roots import record


@pytest.fixture
def engine(memory):
    lines = [
        record("mem_global", "Deploy with make release.", ["deploy"]),
        record(
            "mem_other",
            "Deploy the other one by hand.",
            ["deploy"],
            scope={"type": "project", "project": "other"},
        ),
        record("mem_friday", "Deploy before noon.", ["deploy"], does_not_apply_when=["on a Friday"]),
    ]
    file = memory / "root" / "memory" / "L2.playbooks.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with MemoryEngine.open(memory / "root", store=memory / "s.sqlite3", model=None) as opened:
        opened.sync()
        yield opened


def recall(engine, query, top_k=3, context=None):
    return asyncio.run(EngineRecall(engine, context).recall(query, top_k=top_k))


def test_hits(engine):
    found = recall(engine, "deploy", 1)
    assert found.query == "deploy"
    (hit,) = found.hits
    assert hit.presentation == "validated"
    assert hit.provenance == "L2 active, confidence 0.90 | updated 2026-06-01 | evidence session | lexical #1"


def test_nothing(engine):
    for query in ("xylophone", "", "  "):
        found = recall(engine, query)
        assert found.abstained
        assert found.query == query


def test_a_place_narrows_what_is_recalled(engine):
    everywhere = {hit.source for hit in recall(engine, "deploy").hits}
    assert everywhere == {"mem_global", "mem_other", "mem_friday"}
    place = SessionContext(latest_user_message="", project_root="/src/orchard")
    assert {hit.source for hit in recall(engine, "deploy", context=place).hits} == {
        "mem_global",
        "mem_friday",
    }
    assert {hit.source for hit in recall(engine, "deploy on a Friday?", context=place).hits} == {"mem_global"}


@pytest.mark.parametrize("top_k", [0, 21, True, 2.0])
def test_top_k(engine, top_k):
    with pytest.raises(ConfigError):
        recall(engine, "deploy", top_k)


EVIDENCE = (Evidence(type="session"),)


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"evidence": EVIDENCE}, "validated"),
        ({"evidence": EVIDENCE, "confidence": 0.84}, "boundary"),
        ({"evidence": EVIDENCE, "status": "deprecated"}, "boundary"),
        ({"evidence": EVIDENCE, "status": "contested"}, "refuted"),
        ({"evidence": EVIDENCE, "layer": "L3"}, "boundary"),
        ({"evidence": (Evidence(type="inference"),)}, "boundary"),
        ({}, "boundary"),
    ],
)
def test_presentations(fields, shown):
    one = MemoryRecord(
        **{"id": "m", "statement": "s", "layer": "L2", "status": "active", "confidence": 0.9, **fields}
    )
    assert presentation(one) == shown


def test_long_statements_are_cut():
    one = MemoryRecord(id="m", statement="x" * 2000, layer="L2", status="active", confidence=0.9)
    assert memory_hit(Hit("m", 0.1, one)).snippet == "x" * 1199 + "…"
