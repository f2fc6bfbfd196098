"""notes.jsonl: what is in it at the start, and what is remembered, taken back and merged afterwards."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path

from pi_rank.errors import StoreError
from pi_rank.recall.notes.engine import open_noted
from pi_rank.recall.notes.keeper import NoteKeeper
from pi_rank.recall.notes.notebook import same_words
from tests.campaign.corpus import as_bytes, as_text
from tests.campaign.door import Door
from tests.campaign.values import damage, junk, raw_line, spoil, text, words
from tests.support.memory import write_root


class Notes(Door):
    """A file as a bad day left it, and steps of one server after the other on it."""

    def make(self, chance):
        lines = []
        for number in range(chance.randrange(30)):
            note = {
                "op": "note",
                "id": f"note_{number}",
                "at": "2026-06-30T00:00:00.000Z",
                "content": words(chance),
            }
            note["trigger"] = chance.choice([None, words(chance, 3)])
            merge = {"op": "merge", "into": f"note_{number}", "ids": [f"note_{number - 1}"], "at": "2026"}
            made = chance.choice([note, note, note, merge])
            lines.append(raw_line(chance, spoil(chance, made) if chance.random() < 0.5 else made))
        content = "".join(line + "\n" for line in lines)
        if chance.random() < 0.5:
            content = as_text(damage(chance, content.encode("utf-8", "surrogateescape")))
        return {"file": content, "steps": [_step(chance) for _ in range(chance.randint(1, 12))]}

    def run(self, case, trial):
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            path = Path(place, "notes.jsonl")
            path.write_bytes(as_bytes(case.get("file", "")))
            root = write_root(Path(place, "root"), [{"id": "mem_1", "statement": "deploy the orchard"}])
            before = path.read_bytes()
            with open_noted(root, Path(place, "store.sqlite3"), None) as engine, trial.expecting("notes"):
                engine.sync_records()
                asyncio.run(self._serve(path, engine, case.get("steps", []), trial))
            self._nothing_lost(before, path, case, trial)

    async def _serve(self, path, engine, steps, trial):
        keeper = NoteKeeper(path, engine)
        try:
            keeper.publish()
            held = {}
            for step in steps:
                trial.inputs += 1
                if not isinstance(step, dict):
                    continue
                if step.get("do") == "reopen":
                    keeper.close()
                    keeper = NoteKeeper(path, engine)
                    keeper.publish()
                else:
                    await self._act(keeper, step, held, trial)
                for content in held.values():
                    _recalled(engine, content, trial)
        finally:
            keeper.close()

    async def _act(self, keeper, step, held, trial):
        content = step.get("content", "")
        if step.get("do") == "remember" and isinstance(content, str) and content.strip():
            with trial.expecting("remember", StoreError):
                held[await keeper.remember(content, step.get("trigger"))] = content
                trial.tallies["acknowledged"] += 1
        elif step.get("do") == "forget":
            id_ = next(iter(held), step.get("content", ""))
            with trial.expecting("forget", StoreError):
                count = await keeper.forget(id_)
                trial.check(count > 0 or id_ not in held, "a note cannot be taken back", id_)
                gone = same_words(held.pop(id_, ""))
                for other in [key for key, said in held.items() if same_words(said) == gone]:
                    del held[other]
        elif step.get("do") == "consolidate":
            with trial.expecting("consolidate", StoreError):
                await keeper.consolidate()

    def _nothing_lost(self, before, path, case, trial):
        """Every whole line that was in the file is in it still, unless something was taken back."""
        steps = [step for step in case.get("steps", []) if isinstance(step, dict)]
        if any(step.get("do") == "forget" for step in steps):
            return
        whole, _, torn = before.rpartition(b"\n")
        trial.check(path.read_bytes().startswith(whole), "lines of the file are lost")
        aside = path.with_name(path.name + ".torn")
        trial.check(not torn or torn in aside.read_bytes(), "a torn line is lost", ascii(torn[:200]))


def _step(chance):
    kind = chance.choice(["remember"] * 5 + ["forget", "consolidate", "reopen"])
    trigger = chance.choice([None, words(chance, 2), text(chance)])
    content = chance.choice(
        [words(chance), text(chance), json.dumps(junk(chance)), "limit is 10⁵", "limit is 105"]
    )
    return {"do": kind, "content": content, "trigger": trigger}


def _recalled(engine, content, trial):
    """What was acknowledged is found by its own words, and comes as it was said."""
    query = content
    with trial.expecting("recall"):
        found = {same_words(hit.record.statement) for hit in engine.recall(query, 50, None)}
        if any(char.isalnum() and char.isascii() for char in query):
            trial.check(
                same_words(content) in found, "an acknowledged note is not recalled", ascii(content[:300])
            )
