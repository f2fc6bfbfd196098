"""Nothing of another profile or project, tombstoned, or out of scope is shown, contested memory included."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from benchmarks.corpus import Corpus
from benchmarks.hashing_embedder import HashingEmbedder
from pi_rank import MemoryEngine, SessionContext
from pi_rank.memory.root import MemoryRoot
from tests.reference.processors import exclusion, misplaced

SHOWN_ID = re.compile(r"\bmem_\d{7}\b")
CORPUS = Corpus(seed=7, size=5_000, vocabulary=2_000, eligible_share=0.6, profiles=3, mixed=True)
TURNS = 500


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = CORPUS.write(tmp_path_factory.mktemp("isolation"))
    deleted = [{"deleted_record_id": f"mem_{number:07d}"} for number in range(0, CORPUS.size, 17)]
    lines = "".join(json.dumps(line) + "\n" for line in deleted)
    (root / "memory" / "tombstones.jsonl").write_text(lines, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def engine(root, tmp_path_factory):
    store = tmp_path_factory.mktemp("store") / "store.sqlite3"
    with MemoryEngine.open(root, store=store, model=HashingEmbedder(64)) as engine:
        engine.sync()
        yield engine


def turns():
    rng = np.random.default_rng(11)
    prompts = CORPUS.prompts(TURNS, 12)
    for prompt in prompts:
        project = f"elsewhere-{rng.integers(20)}"
        yield SessionContext(
            latest_user_message=prompt,
            profile_id=[None, "project:1", "project:2", "project:3"][rng.integers(4)],
            project_root=f"/src/{project}" if rng.random() < 0.7 else None,
            task_intent=CORPUS.words[rng.integers(20, 400)],
        )


def test_every_turn_shows_only_what_may_speak(root, engine):
    contents = MemoryRoot(root).read()
    records = {sourced.record.id: sourced.record for sourced in contents.records}
    statements = {record.statement: record for record in records.values()}
    shown = {"selected": 0, "hard rules": 0, "contested": 0}
    for context in turns():
        result = engine.build_retrieval_context(context)
        for record in [hit.record for hit in result.selected] + list(result.hard_rules):
            assert exclusion(record, context, contents.tombstones) is None
        for record in result.contested:
            assert record.status == "contested"
            assert record.id not in contents.tombstones
            assert misplaced(record, context) is None
        named = {hit.id for hit in result.selected} | {record.id for record in result.contested}
        assert set(SHOWN_ID.findall(result.markdown)) <= named
        rules = {record.statement for record in result.hard_rules}
        for line in result.markdown.splitlines():
            text = line.partition("] ")[2]
            if text in statements and not SHOWN_ID.search(line):
                assert text in rules
        shown["selected"] += len(result.selected)
        shown["hard rules"] += len(result.hard_rules)
        shown["contested"] += len(result.contested)
    assert all(count > TURNS // 10 for count in shown.values()), shown


def test_traces_agree_with_the_reference(root, engine):
    contents = MemoryRoot(root).read()
    for context in list(turns())[:10]:
        result = engine.build_retrieval_context(context)
        left_out = {}
        for trace in result.traces:
            assert trace.input_count - trace.output_count == len(trace.exclusion_reasons)
            left_out |= trace.exclusion_reasons
        expected = {
            sourced.record.id: reason
            for sourced in contents.records
            if (reason := exclusion(sourced.record, context, contents.tombstones)) is not None
        }
        assert left_out == expected
