"""The injector on a real MemoryEngine over real memory files."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

import pi_rank
from pi_rank import MemoryEngine, SessionContext
from pi_rank.injection import Injector
from pi_rank.injection.history.live import live_records
from tests.injection.shapes import assistant, user

pytestmark = pytest.mark.skipif(
    not hasattr(MemoryEngine, "record_statuses"), reason="MemoryEngine.record_statuses is not there"
)
ORCHARD = SessionContext(
    latest_user_message="", profile_id="project:orchard-api", project_root="/home/dev/orchard-api"
)
PROMPTS = (
    "How do we deploy to production?",
    "Which tests must run before a release?",
    "ok",
    "What is the convention for database migrations?",
    "How do we deploy to production?",
)


@pytest.fixture
def root(tmp_path):
    shutil.copytree(Path(pi_rank.__file__).parent / "sample", tmp_path / "root")
    return tmp_path / "root"


@pytest.fixture
def engine(tmp_path, root):
    with MemoryEngine.open(root, store=tmp_path / "store.sqlite3", model=None) as opened:
        opened.sync()
        yield opened


class OnOneDay:
    """The engine, with the sample's day as today."""

    def __init__(self, engine):
        self.engine = engine
        self.record_statuses = engine.record_statuses

    def build_retrieval_context(self, context):
        return self.engine.build_retrieval_context(context, today=date(2026, 6, 30))


def converse(injector, messages, prompts):
    results = []
    for prompt in prompts:
        messages.append(user(prompt, "strands"))
        results.append(injector.inject(messages))
        messages.append(assistant("done", "strands"))
    return results


def shown_ids(engine, prompt):
    turn = SessionContext(
        latest_user_message=prompt, profile_id=ORCHARD.profile_id, project_root=ORCHARD.project_root
    )
    result = engine.build_retrieval_context(turn, today=date(2026, 6, 30))
    selected = {hit.id for hit in result.selected if f"- {hit.id} [" in result.markdown}
    return selected | {rule.id for rule in result.hard_rules} | {item.id for item in result.contested}


def test_no_turn_lacks_a_record_that_the_full_block_would_have_shown(engine):
    messages = []
    injector = Injector(OnOneDay(engine), ORCHARD)
    for prompt in PROMPTS:
        converse(injector, messages, [prompt])
        shown = shown_ids(engine, prompt)
        assert shown <= live_records(messages, injector.source).records.keys()
    assert shown


def test_the_first_block_is_the_engines_with_its_hard_rules_named(engine):
    messages = [user(PROMPTS[0], "strands")]
    result = Injector(OnOneDay(engine), ORCHARD).inject(messages)
    turn = SessionContext(
        latest_user_message=PROMPTS[0], profile_id=ORCHARD.profile_id, project_root=ORCHARD.project_root
    )
    context = engine.build_retrieval_context(turn, today=date(2026, 6, 30))
    expected = context.markdown
    for rule in context.hard_rules:
        before, line, after = expected.partition(f"] {rule.statement}")
        head, _, label = before.rpartition("[")
        expected = f"{head}[{rule.id}, {label}{line}{after}"
    assert result.text == "\n\n" + expected.rstrip("\n")


def test_what_is_edited_and_deleted_in_the_files_is_replaced_and_withdrawn(engine, root):
    messages, injector = [], Injector(OnOneDay(engine), ORCHARD)
    (first,) = converse(injector, messages, PROMPTS[:1])
    path = root / "memory" / "L2.playbooks.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    ours = [line for line in lines if line["id"] in first.record_ids]
    ours[0]["statement"] += " (since May)"
    gone = ours[1]["id"]
    kept = [json.dumps(line, ensure_ascii=False) for line in lines if line["id"] != gone]
    path.write_text("\n".join(kept) + "\n", encoding="utf-8")
    engine.sync()
    (again,) = converse(injector, messages, PROMPTS[:1])
    assert again.withdrawn == (gone,)
    assert f"- {gone}: deleted since it was recalled above" in again.text
    assert f"(since May) (replaces the earlier text of {ours[0]['id']})" in again.text


@pytest.mark.parametrize("mode", ["policy_only", "wakeup"])
def test_modes_without_records_are_written_once(engine, root, mode):
    (root / "config.json").write_text(json.dumps({"retrieval": {"injectionMode": mode}}))
    messages, injector = [], Injector(OnOneDay(engine), ORCHARD)
    first, second = converse(injector, messages, PROMPTS[:2])
    assert (first.outcome, first.record_ids, second.outcome) == ("written", (), "nothing_new")
    assert f"- Injection mode: {mode}" in first.text


def test_statuses_of_records_that_are_active_contested_tombstoned_or_unknown(engine):
    by_status = engine.record_statuses(["mem_none", *every_id(engine)])
    assert "mem_none" not in by_status
    assert {"active", "contested", "deprecated", "superseded", "tombstoned"} <= set(by_status.values())


def every_id(engine):
    texts = [path.read_text(encoding="utf-8") for path in sorted(engine.root.rglob("*.jsonl"))]
    lines = [json.loads(line) for text in texts for line in text.splitlines() if line.strip()]
    return [line["id"] for line in lines if "statement" in line]


def test_injection_itself_needs_no_numpy():
    code = (
        "import sys, pi_rank.injection, pi_rank.injection.render, pi_rank.cli.commands.prefix_check;"
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
