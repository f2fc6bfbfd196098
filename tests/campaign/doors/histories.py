"""Conversations: what is written into them, taken out of them, rendered for a provider, and checked."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path

from pi_rank import MemoryEngine, SessionContext
from pi_rank.errors import ContextError
from pi_rank.injection import Injector, echoes, inject, own_words, quarantine, strip_injected
from pi_rank.injection.history.consumers import guardrail_blocks, offloadable
from pi_rank.injection.history.live import live_records, marks_in
from pi_rank.injection.injector import SOURCE
from pi_rank.injection.prefix_check import check_prefixes
from pi_rank.injection.render import pin_rules, render
from tests.campaign.door import Door
from tests.campaign.values import junk, spoil, text, words
from tests.injection.shapes import DIALECTS, assistant, tool_call, tool_result, user
from tests.support.memory import write_root

PROVIDERS = ("anthropic", "bedrock", "openai_chat", "openai_responses")


class Histories(Door):
    """A conversation with memory in it, spoiled: by a client, by a restore, by an attacker."""

    def __init__(self, folder):
        super().__init__(folder)
        self._place = tempfile.TemporaryDirectory(dir=folder)
        root = write_root(Path(self._place.name, "root"), _records())
        self._engine = MemoryEngine.open(root, store=Path(self._place.name, "store.sqlite3"), model=None)
        self._engine.sync()
        self._injector = Injector(
            self._engine, SessionContext(latest_user_message="", profile_id="project:mine")
        )

    def close(self):
        self._engine.close()
        self._place.cleanup()

    def make(self, chance):
        dialect = chance.choice(DIALECTS)
        messages = []
        for turn in range(chance.randint(1, 5)):
            messages.append(user(chance.choice([words(chance), text(chance), "how do we deploy?"]), dialect))
            if chance.random() < 0.4:
                messages[-1]["content"] = text(chance)
            if chance.random() < 0.7:
                self._injector.inject(messages, dialect=dialect)
            if chance.random() < 0.3:
                messages += tool_call(f"call{turn}", dialect=dialect)
                messages += tool_result(f"call{turn}", dialect=dialect, output=text(chance))
            messages.append(assistant(text(chance), dialect))
        messages.append(user(f"how do we {words(chance, 5)}?", dialect))
        history = spoil(chance, messages, chance.choice([0, 1, 1, 2, 5]))
        if chance.random() < 0.1:
            history = [*history, junk(chance)] if isinstance(history, list) else history
        return {
            "messages": history,
            "dialect": chance.choice([dialect, dialect, None, chance.choice(DIALECTS)]),
            "provider": chance.choice(PROVIDERS),
            "text": text(chance),
        }

    def run(self, case, trial):
        given = case.get("messages", [])
        messages = given if isinstance(given, list) else []
        dialect = case.get("dialect")
        dialect = dialect if dialect in DIALECTS else None
        trial.inputs += len(messages)
        self._read(messages, dialect, str(case.get("text", "")), trial)
        self._write(messages, dialect, str(case.get("text", "")), trial)
        self._send(messages, dialect, case.get("provider"), trial)

    def _read(self, messages, dialect, said, trial):
        before = json.dumps(messages)
        with trial.expecting("strip"):
            stripped = strip_injected(messages, dialect)
            json.dumps(stripped)
            again = strip_injected(copy.deepcopy(stripped), dialect)
            trial.check(json.dumps(again) == json.dumps(stripped), "stripping twice takes out more")
        for name, read in {
            "own words": lambda: own_words(messages, dialect),
            "echoes": lambda: echoes(said, messages, dialect),
            "live": lambda: live_records(messages, SOURCE),
            "marks": lambda: list(marks_in(messages)),
            "guardrail": lambda: guardrail_blocks(messages, dialect=dialect),
            "offload": lambda: [offloadable(each, dialect) for each in messages if isinstance(each, dict)],
        }.items():
            with trial.expecting(name):
                read()
        trial.check(json.dumps(messages) == before, "reading changes the conversation")

    def _write(self, messages, dialect, said, trial):
        for name, write in {
            "inject": lambda changed: self._injector.inject(changed, dialect=dialect),
            "inject a text": lambda changed: inject(changed, said, source="notes", dialect=dialect),
        }.items():
            changed = copy.deepcopy(messages)
            with trial.expecting(name):
                result = write(changed)
                self._check_written(messages, changed, result, trial)
                if result.outcome == "written" and name == "inject":
                    for line in (result.text or "").split("\n"):
                        trial.check(
                            len(line.splitlines()) <= 1, "a line of memory holds a break", ascii(line)
                        )
        for mark in _marks(messages, trial):
            changed = copy.deepcopy(messages)
            with trial.expecting("quarantine", ContextError):
                quarantine(changed, mark.id, dialect)
                json.dumps(changed)

    def _check_written(self, before, after, result, trial):
        json.dumps(after)
        trial.tallies[result.outcome] += 1
        if result.outcome != "written":
            trial.check(after == before, "a conversation changes though nothing was written", result.reason)
            return
        at = result.message_index
        trial.check(before[:at] == after[:at], "an earlier message is changed")
        trial.check(before[at + 1 :] == after[at + 1 :], "a later message is changed")

    def _send(self, messages, dialect, provider, trial):
        provider = provider if provider in PROVIDERS else PROVIDERS[0]
        before = json.dumps(messages)
        rules = pin_rules(provider, "m")
        with trial.expecting("render"):
            sent = render(messages, rules, dialect=dialect)
            wire = json.dumps(sent)
            for mark in _marks(messages, trial):
                seen = isinstance(mark.id, str) and len(mark.id) > 20 and mark.id in wire
                trial.check(not seen or mark.id in json.dumps(_texts(messages)), "a mark is sent", mark.id)
            trial.check(
                wire == json.dumps(render(messages, rules, dialect=dialect)), "rendered twice, two results"
            )
            report = check_prefixes([{"messages": sent[:end]} for end in range(1, len(sent) + 1)])
            trial.check(
                not report.undeclared, "a request does not continue the one before", str(report.breaks[:1])
            )
        with trial.expecting("prefix check"):
            check_prefixes(
                [{"messages": messages}, {"input": messages}, {"system": messages, "tools": messages}]
            )
        trial.check(json.dumps(messages) == before, "rendering changes the conversation")


def _marks(messages, trial):
    with trial.expecting("marks"):
        return list(marks_in(messages))
    return []


def _texts(value):
    """Every string that is no member of metadata."""
    if isinstance(value, dict):
        return [text for key, member in value.items() if key != "metadata" for text in [key, *_texts(member)]]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []


def _records():
    for number in range(60):
        yield {
            "id": f"mem_{number}",
            "statement": f"deploy the orchard to production on friday number {number}",
            "status": "contested" if number % 10 == 1 else "active",
            "ruleType": "avoid_pattern" if number % 9 == 2 else "workflow",
        }
