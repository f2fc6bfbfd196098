"""PI's memory files: lines, markers of deletion, notes, the session index, config.json."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.hashing_embedder import HashingEmbedder
from pi_rank import MemoryEngine
from pi_rank.store.kept import STAYS_DELETED
from tests.campaign.blocks import check_block
from tests.campaign.corpus import as_bytes, as_text
from tests.campaign.door import Door
from tests.campaign.roots import TODAY, context_of, some_files, some_turns, truth_of, write_files
from tests.campaign.values import damage

LINES, MANY_LINES = 200, 4_000
EMBEDDER = HashingEmbedder(32)


class MemoryFiles(Door):
    """A root in two or three states, one after the other: each is synced, asked, and compared."""

    def make(self, chance):
        if chance.random() < 0.1:  # many lines, and few questions
            return {"states": [some_files(chance, MANY_LINES)], "turns": some_turns(chance, 1)}
        states = [some_files(chance, chance.choice([5, 40, LINES]))]
        for _ in range(chance.randint(1, 2)):
            states.append(_next_state(chance, states[-1]))
        return {"states": states, "turns": some_turns(chance, 4), "vectors": chance.random() < 0.3}

    def run(self, case, trial):
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            root, model = Path(place, "root"), EMBEDDER if case.get("vectors") else None
            root.mkdir()
            turns = case.get("turns", [])
            with MemoryEngine.open(root, store=Path(place, "store.sqlite3"), model=model) as engine:
                for files in case.get("states", []):
                    write_files(root, files)
                    trial.inputs += sum(content.count("\n") + 1 for content in files.values())
                    self._look(engine, root, turns, trial)
                served = _answers(engine, turns, trial)
                kept = any("cannot be read" in said or said == STAYS_DELETED for said in _warnings(engine))
            if kept:  # what was read before counts, which a new store does not know
                trial.tallies["last good states"] += 1
                return
            with MemoryEngine.open(root, store=Path(place, "fresh.sqlite3"), model=model) as fresh:
                with trial.expecting("fresh sync"):
                    fresh.sync()
                trial.check(served == _answers(fresh, turns, trial), "not as from a fresh store")

    def _look(self, engine, root, turns, trial):
        with trial.expecting("sync"):
            report = engine.sync()
            truth = truth_of(root)
            said = {(each.file, each.line, each.reason) for each in report.skipped}
            trial.check(
                {(each.file, each.line, each.reason) for each in truth.skipped} <= said, "a line is not named"
            )
            stored = engine.status()["records"]
            trial.check(
                stored == len(truth.records), "records are missing", f"{stored} of {len(truth.records)}"
            )
            for turn in turns:
                self._ask(engine, turn, truth, trial)

    def _ask(self, engine, turn, truth, trial):
        context = context_of(turn)
        trial.tallies["turns"] += 1
        with trial.expecting("turn"):
            result = engine.build_retrieval_context(
                context, today=TODAY, max_bytes=turn.get("max_bytes", 14_000)
            )
            check_block(trial, result, turn, truth, context, TODAY)
        for place in (context, None):
            with trial.expecting("search"):
                for hit in engine.search(context.latest_user_message, k=50, context=place):
                    trial.check(truth.may_be_found(hit.id, place), "search: what may not be found", hit.id)


def _next_state(chance, files):
    """The files after somebody has worked on them: some are others, some damaged, some gone."""
    new = some_files(chance, chance.choice([5, 40]))
    changed = {
        name: new.get(name, "") if chance.random() < 0.4 else content for name, content in files.items()
    }
    for name in [name for name in changed if name.endswith(".jsonl")]:
        kind = chance.randrange(8)
        if kind == 0:
            del changed[name]
        elif kind == 1:
            changed[name] = as_text(damage(chance, _bytes(changed[name])))
        elif kind == 2:
            lines = changed[name].split("\n")
            chance.shuffle(lines)
            changed[name] = "\n".join(lines)
    return changed


def _warnings(engine):
    return engine.build_retrieval_context(context_of({}), today=TODAY).stats["warnings"]


def _bytes(content):
    try:
        return as_bytes(content)
    except UnicodeEncodeError:
        return content.encode("utf-8", "surrogatepass")


def _answers(engine, turns, trial):
    """What an engine finds, to be compared with another."""
    found = []
    for turn in turns:
        with trial.expecting("comparison"):
            result = engine.build_retrieval_context(context_of(turn), today=TODAY)
            hits = engine.search(turn.get("prompt", ""), k=50)
            found.append((result.markdown, [(hit.id, round(hit.score, 9)) for hit in hits]))
    return found
