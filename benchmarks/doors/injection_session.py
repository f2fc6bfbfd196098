"""A 50-turn session over 400 records whose topic drifts, under each way of placing memory in it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

from pi_rank import MemoryEngine, SessionContext
from pi_rank.injection import Injector, inject, own_words
from pi_rank.injection.history.live import live_records
from pi_rank.injection.prefix_check import Report, check_prefixes
from pi_rank.injection.render import pin_rules, render
from pi_rank.results import RetrievalContext

DESIGNS = (
    "persist, only what is new",
    "persist, full block",
    "per call",
    "prepended, per call",
    "system prompt",
)
TURNS = 50
TODAY = date(2026, 5, 20)
SYSTEM = "You are a careful engineer. Answer briefly."
WORDS = [
    *("billing", "search", "login", "export", "cache", "mobile", "email", "deploy", "index", "schema"),
    *("upload", "webhook", "report", "theme", "locale", "backup", "metrics", "queue", "gateway", "session"),
]
ASPECTS = [
    *("timeouts", "retries", "fixtures", "naming", "logging", "ownership", "rollback", "limits", "encoding"),
    *("review", "alerts", "versions", "permissions", "sorting", "paging", "mocks", "secrets", "budgets"),
    *("latency", "ordering"),
]


def write_root(folder: Path) -> Path:
    """The memory files: twenty topics of twenty records, eight hard rules among them."""
    rng = random.Random(7)
    (folder / "memory").mkdir(parents=True)
    lines = []
    for number, (topic, aspect) in enumerate(product(WORDS, ASPECTS)):
        others = rng.sample(ASPECTS, 3)
        statement = (
            f"For {topic}, the {aspect} of the {topic} service follow the team's page on {others[0]}; "
            f"check {others[1]} with the owner before you change {aspect}; note {others[2]} in the ticket."
        )
        record = {
            "id": f"mem_{number:03}",
            "layer": "L2",
            "scope": {"type": "global"},
            "tags": [topic, aspect],
            "statement": statement,
            "confidence": 0.9 if number % 50 == 0 else 0.8,
            "status": "active",
            "created_at": "2026-05-01",
            "updated_at": "2026-05-10",
        }
        lines.append(json.dumps(record | ({"ruleType": "convention"} if number % 50 == 0 else {})))
    (folder / "memory" / "L2.playbooks.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def prompts() -> Iterator[str]:
    """The user's turns: five on a topic, then the next one; every sixth looks back at the topic before."""
    rng = random.Random(11)
    for turn in range(TURNS):
        at = turn // 5 - (1 if turn % 6 == 5 and turn >= 5 else 0)
        first, second = rng.sample(ASPECTS, 2)
        yield f"How does {WORDS[at]} handle {first}, and who looks after its {second}?"


@dataclass
class Session:
    """One run of the session under one design."""

    design: str
    engine: MemoryEngine
    messages: list[dict[str, Any]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    lacking: int = 0

    def run(self) -> Report:
        """All turns; `lacking` counts records of full blocks that the request of their turn does not hold."""
        for prompt in prompts():
            self.messages.append({"role": "user", "content": [{"type": "text", "text": prompt}]})
            self._call()
            answer = f"It follows the page; see turn {len(self.requests)}."
            thinking = {"type": "thinking", "thinking": "Look it up.", "signature": f"s{len(self.requests)}"}
            self.messages.append(
                {"role": "assistant", "content": [thinking, {"type": "text", "text": answer}]}
            )
        return check_prefixes(self.requests)

    def _call(self) -> None:
        turn = SessionContext(latest_user_message=own_words(self.messages))
        context = self.build_retrieval_context(turn)
        outgoing, system, written = self._outgoing(context)
        self.written.append(written)
        rules = pin_rules("anthropic", "claude-opus-5", breakpoints=2)
        body = {"system": system, "messages": render(outgoing, rules, dialect="anthropic")}
        self.requests.append(json.loads(json.dumps(body)))
        if self.design == DESIGNS[0]:
            shown = {hit.id for hit in context.selected if f"- {hit.id} [" in context.markdown}
            shown |= {rule.id for rule in context.hard_rules}
            self.lacking += len(shown - live_records(self.messages, "pi").records.keys())

    def _outgoing(self, context: RetrievalContext) -> tuple[list[dict[str, Any]], str, int]:
        text = context.markdown
        if self.design == "system prompt":
            return self.messages, f"{SYSTEM}\n\n{text}", len(text.encode())
        if self.design == "prepended, per call":
            last = self.messages[-1]
            changed = {**last, "content": [{"type": "text", "text": text}, *last["content"]]}
            return [*self.messages[:-1], changed], SYSTEM, len(text.encode())
        if self.design == "persist, only what is new":
            result = Injector(self, source="pi").inject(self.messages, dialect="anthropic")
        elif self.design == "persist, full block":
            source = f"pi {len(self.requests)}"  # a source of its own each turn: nothing counts as live
            result = inject(self.messages, context, source=source, dialect="anthropic")
        else:
            result = inject(self.messages, context, source="pi", mode="per_call", dialect="anthropic")
        return result.outgoing, SYSTEM, result.bytes

    def build_retrieval_context(self, context: SessionContext) -> RetrievalContext:
        """The engine's, on the session's day."""
        return self.engine.build_retrieval_context(context, today=TODAY)

    def record_statuses(self, ids: Any) -> dict[str, str]:
        """The engine's."""
        return self.engine.record_statuses(ids)
