"""Who the user is (L1) is in every block, whatever is asked, and in a conversation once."""

from __future__ import annotations

import json

import pytest

from benchmarks.hashing_embedder import HashingEmbedder
from pi_rank import MemoryEngine, SessionContext
from pi_rank.embedding.cards import Calibration
from pi_rank.injection import Injector
from tests.support.memory import DEFAULTS, engine_on, write_root

IDENTITY = {
    "mem_name": ("Mina Okafor, called Mina", 0.98),
    "mem_hours": ("Works 09:00 to 18:00 Lisbon time", 0.95),
    "mem_answers": ("Wants answers in Portuguese", 0.95),
    "mem_commands": ("Wants to see deploy commands before they run", 0.6),
    "mem_editor": ("Uses Helix", 0.4),
}


def identity(**fields):
    return [
        {"id": name, "layer": "L1", "statement": statement, "confidence": confidence, **fields}
        for name, (statement, confidence) in IDENTITY.items()
    ]


def chosen(result, layer="L1"):
    return [hit.id for hit in result.selected if hit.layer == layer]


def ask(engine, prompt, **fields):
    return engine.build_retrieval_context(SessionContext(latest_user_message=prompt, **fields))


def test_what_ranks_comes_first_then_confidence_and_id(tmp_path):
    with engine_on(tmp_path, identity()) as engine:
        result = ask(engine, "show me the deploy commands")
        assert chosen(result) == ["mem_commands", "mem_name", "mem_answers", "mem_hours"]
        assert [bool(hit.sources) for hit in result.selected] == [True, False, False, False]
        assert [hit.score > 0 for hit in result.selected] == [True, False, False, False]
        assert chosen(ask(engine, "zebra crossings")) == [
            "mem_name",
            "mem_answers",
            "mem_hours",
            "mem_commands",
        ]
        assert ask(engine, "thanks!").selected == ()


def test_other_records_keep_their_places(tmp_path):
    playbooks = [{"id": f"mem_{n:02}", "statement": f"deploy commands {n}"} for n in range(20)]
    with engine_on(tmp_path, [*playbooks, *identity()]) as engine:
        result = ask(engine, "deploy commands")
        assert len(chosen(result)) == 4
        assert len(chosen(result, "L2")) == 8
        lines = [line for line in result.markdown.splitlines() if line.startswith("- mem_")]
        assert [line.split()[1] for line in lines] == [hit.id for hit in result.selected]


@pytest.mark.parametrize(
    ("config", "count"),
    [({"maxL1Records": 2}, 2), ({"maxL1Records": 0}, 0), ({"maxRecords": 6}, 2), ({"maxRecords": 2}, 0)],
)
def test_the_budget_of_the_layer(tmp_path, config, count):
    with engine_on(tmp_path, identity(), config={"retrieval": config}) as engine:
        assert len(chosen(ask(engine, "zebra crossings"))) == count


def test_only_what_applies_here(tmp_path):
    records = identity()
    records[0]["status"] = "deprecated"
    records[1]["profile_id"] = "project:other"
    records[2]["does_not_apply_when"] = ["zebra"]
    with engine_on(tmp_path, records, tombstones=["mem_commands"]) as engine:
        assert chosen(ask(engine, "zebra crossings")) == ["mem_editor"]


def test_many_that_do_not_apply_stand_before_one_that_does(tmp_path):
    others = [
        {"id": f"mem_{n:03}", "layer": "L1", "confidence": 0.99, "profile_id": "project:other"}
        for n in range(1_000)
    ]
    with engine_on(tmp_path, [*others, *identity()]) as engine:
        assert chosen(ask(engine, "zebra crossings"))[0] == "mem_name"
        assert len(chosen(ask(engine, "zebra crossings", profile_id="project:other"))) == 4


class NeverSure(HashingEmbedder):
    calibration = Calibration(intercept=0, evidence=1, best=1, threshold=1)


def test_a_prompt_of_another_subject_gets_identity_and_nothing_else(tmp_path):
    playbook = {"id": "mem_deploy", "statement": "deploy commands run on Tuesdays"}
    with engine_on(tmp_path, [playbook, *identity()], model=NeverSure(32)) as engine:
        result = ask(engine, "deploy commands")
    assert result.stats["off_topic"]
    assert [hit.id for hit in result.selected] == ["mem_name", "mem_answers", "mem_hours", "mem_commands"]


def test_a_batch_shows_the_same(tmp_path):
    with engine_on(tmp_path, identity(), model=HashingEmbedder(32)) as engine:
        prompts = ["show me the deploy commands", "zebra crossings"]
        turns = [SessionContext(latest_user_message=prompt) for prompt in prompts]
        batched = [answer.selected for answer in engine.retrieve_batch(turns)]
        assert batched == [engine.build_retrieval_context(turn).selected for turn in turns]


def test_it_is_there_after_a_start_from_the_saved_snapshot(tmp_path):
    records = [{"id": f"mem_{n:05}", "statement": f"note {n}"} for n in range(5_000)]
    root = write_root(tmp_path / "root", records)
    (root / "memory" / "L1.identity.jsonl").write_text(
        "".join(json.dumps(DEFAULTS | record) + "\n" for record in identity())
    )
    for _ in range(2):
        with MemoryEngine.open(root, store=tmp_path / "store.sqlite3", model=None) as engine:
            engine.sync()
            assert chosen(ask(engine, "zebra crossings"))[0] == "mem_name"


def test_a_conversation_gets_it_once(tmp_path):
    with engine_on(tmp_path, identity()) as engine:
        injector, messages = Injector(engine), []
        results = []
        for prompt in ("zebra crossings", "pelican crossings", "show me the deploy commands"):
            messages.append({"role": "user", "content": prompt})
            results.append(injector.inject(messages))
            messages.append({"role": "assistant", "content": "Done."})
    assert [result.outcome for result in results] == ["written", "nothing_new", "nothing_new"]
    assert results[0].record_ids == ("mem_name", "mem_answers", "mem_hours", "mem_commands")
    assert json.dumps(messages).count("Mina Okafor") == 1
