"""What is on the disk of ours: the store's rows, and the bytes of store, log, snapshot and graph."""

from __future__ import annotations

import random
import shutil
import sqlite3
import tempfile
from datetime import date
from pathlib import Path

from pi_rank import MemoryEngine, SessionContext
from pi_rank.errors import PiRankError, StoreError
from pi_rank.memory.root import MemoryRoot
from pi_rank.ranking.analysis import FtsAnalyzer
from pi_rank.store.rebuild import known_files, rebuild
from pi_rank.store.store import MemoryStore
from tests.campaign.door import Door
from tests.campaign.eager import eager
from tests.campaign.values import damage
from tests.support.memory import write_root
from tests.support.snapshots import EMBEDDER, WORDS

RECORDS = 400
DAY = date(2026, 6, 30)
QUESTIONS = ["deploy tests on tuesday", "number 117", "shader cache billing", "invoice"]
COLUMNS = {
    "records": [
        "payload",
        "terms",
        "content_hash",
        "text_hash",
        "id",
        "active",
        "tombstoned",
        "generation",
        "file",
    ],
    "vectors": ["vector", "text_hash", "model_id", "checksum"],
    "state": [
        "uuid",
        "generation",
        "complete_from",
        "mark",
        "records",
        "root",
        "model",
        "skipped",
        "warnings",
    ],
    "files": ["size", "digest", "tail", "mtime_ns"],
    "pieces": ["content", "digest"],
    "tombstones": ["id"],
    "marks": ["mark", "generation"],
    "removed": ["generation"],
}
VALUES = [None, "", "x", 0, -5, 99, 2**62, 1.5, {"blob": ""}, {"blob": "ffffffff"}, {"blob": "00" * 64}]


class Stores(Door):
    """A store of ours with everything beside it, damaged, opened, asked, and made anew."""

    deadline = 60.0

    def __init__(self, folder):
        super().__init__(folder)
        self._place = tempfile.TemporaryDirectory(dir=folder)
        self._eager = eager()
        self._eager.__enter__()
        top = Path(self._place.name)
        self._root, self._sound = top / "root", top / "sound"
        self._statements = {each["id"]: each["statement"] for each in _records()}
        hidden = [each["id"] for each in _records() if each.get("status") == "deleted"]
        self._hidden = {*hidden, "mem_3", "mem_4"}
        write_root(self._root, _records(), tombstones=["mem_3", "mem_4"])
        with self._opened(self._sound) as engine:
            engine.sync()
            for _ in range(40):
                self._truth = _answers(engine)
                if engine.status()["graph"] == "ready" or list(self._sound.glob("*.graph")):
                    break

    def close(self):
        self._eager.__exit__(None, None, None)
        self._place.cleanup()

    def make(self, chance):
        case = {
            "sync": chance.random() < 0.5,
            "without": chance.sample(["snapshot", "graph"], chance.randrange(3)),
        }
        if chance.random() < 0.5:
            return case | {"sql": [_statement(chance) for _ in range(chance.choice([1, 1, 3]))]}
        names = ["", "", "-wal", "-shm", ".snapshot", ".graph", ".config.json"]
        return case | {"bytes": chance.choice(names), "seed": chance.randrange(2**31)}

    def run(self, case, trial):
        trial.inputs += 1
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            copy = Path(place, "store")
            shutil.copytree(self._sound, copy)
            self._spoil(copy, case)
            said = self._look(copy, case, trial)
            trial.tallies["said so" if said else "as if nothing had been"] += 1
            with trial.expecting("rebuild"):
                rebuild(_store(copy), MemoryRoot(self._root).read(known_files(_store(copy))), FtsAnalyzer())
            with trial.expecting("after rebuild"), self._opened(copy) as engine:
                engine.sync()
                answers = _answers(engine)
                trial.check(
                    answers == self._truth, "rebuilt, and not as before", _difference(answers, self._truth)
                )

    def _spoil(self, copy, case):
        for suffix in case.get("without", []):
            for path in copy.glob(f"*.{suffix}"):
                path.unlink()
        if "bytes" in case:
            chance = random.Random(case.get("seed", 0))
            name = str(case["bytes"])
            found = [path for path in sorted(copy.iterdir()) if path.name.endswith(f"sqlite3{name}")]
            path = found[0] if found else copy / f"store.sqlite3{name}"
            path.write_bytes(damage(chance, path.read_bytes() if found else chance.randbytes(4_096)))
        connection = sqlite3.connect(_store(copy), isolation_level=None)
        for sql, *values in case.get("sql", []):
            try:
                connection.execute(
                    sql, [bytes.fromhex(v["blob"]) if isinstance(v, dict) else v for v in values]
                )
            except (sqlite3.Error, ValueError, KeyError):
                continue  # the schema itself forbids it
        connection.close()

    def _look(self, copy, case, trial):
        """Whether the engine says that something is wrong; in any case it must not say what is not so."""
        try:
            with self._opened(copy) as engine:
                if case.get("sync"):
                    engine.sync()
                answers = _answers(engine)
                said = _warnings(engine)
        except PiRankError as error:
            trial.check(
                "rebuild" in str(error) or "store" in str(error), "it is not said what to do", str(error)
            )
            return True
        except Exception:
            with trial.expecting("damaged store"):
                raise
            return True
        for hits, _ in answers["found"]:
            for id_, statement, _ in hits:
                trial.check(
                    self._statements.get(id_) == statement,
                    "another statement is shown",
                    f"{id_}: {statement}",
                )
                trial.check(id_ not in self._hidden, "a deleted record is shown", id_)
        rebuilt = any("rebuilt" in each or "made anew" in each for each in said)
        if not said and not rebuilt and answers != self._truth and not self._is_named(copy, trial):
            trial.say("silently other answers", _difference(answers, self._truth))
        return bool(said)

    def _is_named(self, copy, trial):
        """Whether it is vectors alone, and a doctor names them or the next sync will make them."""
        with (
            trial.expecting("doctor", StoreError),
            self._opened(copy) as engine,
            MemoryStore.open(_store(copy)) as store,
        ):
            return bool(engine.status()["to_embed"] or store.faults())
        return True

    def _opened(self, folder):
        return MemoryEngine.open(self._root, store=_store(folder), model=EMBEDDER)


def _store(folder):
    return folder / "store.sqlite3"


def _records():
    for number in range(RECORDS):
        one = {
            "id": f"mem_{number}",
            "statement": f"{WORDS[number % 10]} {WORDS[number // 10 % 10]} number {number}",
            "status": "deleted" if number % 31 == 5 else "contested" if number % 40 == 7 else "active",
            "ruleType": "avoid_pattern" if number % 97 == 1 else "workflow",
        }
        yield one


def _answers(engine):
    """What an engine finds and says, to be compared."""
    found = []
    for question in QUESTIONS:
        for mode in ("lexical", "semantic", "hybrid"):
            hits = engine.search(question, k=20, mode=mode, abstain=False)
            found.append(([(hit.id, hit.record.statement, round(hit.score, 4)) for hit in hits], mode))
    turn = SessionContext(latest_user_message=f"how do we {QUESTIONS[0]}, and why?")
    block = engine.build_retrieval_context(turn, today=DAY).markdown
    statuses = engine.record_statuses([f"mem_{number}" for number in range(RECORDS)])
    return {"found": found, "block": block, "statuses": dict(sorted(statuses.items()))}


def _warnings(engine):
    turn = SessionContext(latest_user_message="how do we deploy?")
    return [str(each) for each in engine.build_retrieval_context(turn, today=DAY).stats["warnings"]]


def _difference(answers, truth):
    for key in truth:
        if answers[key] != truth[key]:
            return f"{key}: {str(answers[key])[:700]} != {str(truth[key])[:700]}"
    return ""


def _statement(chance):
    """One statement of SQL, and its values."""
    table = chance.choice(list(COLUMNS))
    row = "" if table in ("state", "marks") else f" WHERE rowid % {RECORDS} = {chance.randrange(RECORDS)}"
    if table in ("files", "pieces", "tombstones"):  # without row numbers
        row = ""
    kind = chance.randrange(10)
    if kind == 0:
        return [f"DELETE FROM {table}{row}"]
    if kind == 1:
        return [f"DROP TABLE {table}"]
    if kind == 2:
        return [
            f"DELETE FROM {chance.choice(['records', 'records_fts'])} WHERE rowid % 7 = {chance.randrange(7)}"
        ]
    column = chance.choice(COLUMNS[table])
    if kind < 5:
        cut = chance.choice([f"substr({column}, 2)", f"{column} || x'ff'", f"replace({column}, '1', '2')"])
        return [f"UPDATE {table} SET {column} = CAST({cut} AS {chance.choice(['BLOB', 'TEXT'])}){row}"]
    return [f"UPDATE {table} SET {column} = ?{row}", chance.choice(VALUES)]
