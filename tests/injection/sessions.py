"""A conversation with a scripted model, under each design of injection, every request kept as it was sent."""

from __future__ import annotations

import copy
import json
from typing import Any

from pi_rank.context import SessionContext
from pi_rank.injection import Injector, own_words, strip_injected
from pi_rank.injection.prefix_check import Request, check_prefixes
from pi_rank.injection.render import pin_rules, render, switch_model
from tests.injection.memory import ListMemory, record
from tests.injection.shapes import assistant, tool_call, tool_result, user

DESIGNS = ("persist", "per_call", "system_prompt", "prepend")
MODELS = {
    "strands": ("bedrock", "anthropic.claude-sonnet-4"),
    "anthropic": ("anthropic", "claude-opus-5"),
    "openai_chat": ("openai_chat", "llama3.2"),
    "openai_responses": ("openai_responses", "gpt-5"),
}
TOPICS = ("tests", "deploys", "linting", "database", "review")


def topic_memory() -> ListMemory:
    return ListMemory(
        [record(f"mem_{t}_{i}", f"About {t}: rule number {i} of {t}") for t in TOPICS for i in range(4)],
        limit=4,
    )


class Session:
    """One conversation. Each step calls the scripted model and records the request."""

    def __init__(self, dialect: str, design: str = "persist", trigger: str = "user_turn") -> None:
        self.dialect = dialect
        self.design = design
        self.memory = topic_memory()
        self.messages: list[dict[str, Any]] = []
        self.requests: list[Request] = []
        self.rules = pin_rules(*MODELS[dialect])
        self.declared = ""
        self.steps = 0
        mode = "per_call" if design == "per_call" else "persist"
        self.injectors = [Injector(self.memory, mode=mode, trigger=trigger)]
        self.written = 0

    def turn(self, text: str) -> None:
        self.messages.append(user(text, self.dialect))
        self.call()
        self.answer()

    def tools(self, text: str, steps: int, parallel: int = 1) -> None:
        self.messages.append(user(text, self.dialect))
        self.call()
        for _ in range(steps):
            self.steps += 1
            ids = [f"t{self.steps}_{n}" for n in range(parallel)]
            self.messages += tool_call(*ids, dialect=self.dialect)
            self.messages += tool_result(*ids, dialect=self.dialect)
            self.call()
        self.answer()

    def retry(self, text: str) -> None:
        """The first call of the turn fails after it was sent."""
        self.messages.append(user(text, self.dialect))
        self.call()
        self.call()
        self.answer()

    def restart(self) -> None:
        """A new process restores the messages, and nothing else."""
        self.messages = json.loads(json.dumps(self.messages))
        self.rules = type(self.rules).from_dict(json.loads(json.dumps(self.rules.to_dict())))
        self.injectors = [
            Injector(self.memory, source=i.source, mode=i.mode, trigger=i.trigger) for i in self.injectors
        ]

    def compact(self) -> None:
        """Whole turns at the start are dropped."""
        starts = [i for i, m in enumerate(self.messages) if own_words([m], self.dialect)]
        if len(starts) > 2:
            self.messages = self.messages[starts[-2] :]
            self.declared = "compaction"

    def switch(self) -> None:
        self.rules = switch_model(self.rules, self.rules.provider, "another-model")

    def answer(self) -> None:
        self.messages.append(assistant(f"answer {len(self.requests)}", self.dialect))

    def call(self) -> None:
        outgoing, system = self.messages, "be brief"
        if self.design in ("persist", "per_call"):
            for injector in self.injectors:
                result = injector.inject(
                    self.messages if self.design == "persist" else outgoing, dialect=self.dialect
                )
                self.written += result.bytes
                outgoing = result.outgoing
        else:
            text = self.memory.build_retrieval_context(self.turn_of()).markdown
            outgoing, system = self._old_design(text, system)
        self.send(outgoing, system)

    def turn_of(self) -> SessionContext:
        return SessionContext(latest_user_message=own_words(self.messages, self.dialect))

    def _old_design(self, text: str, system: str) -> tuple[list[dict[str, Any]], str]:
        """What others do: memory in the system prompt, or in front of the latest user text, for one call."""
        if self.design == "system_prompt":
            return self.messages, f"{system}\n\n{text}"
        at = max(i for i, m in enumerate(self.messages) if own_words([m], self.dialect))
        outgoing = copy.deepcopy(self.messages)
        outgoing[at]["content"].insert(0, user(text, self.dialect)["content"][0])
        return outgoing, system

    def send(self, outgoing: list[dict[str, Any]], system: str) -> None:
        key = "input" if self.rules.provider == "openai_responses" else "messages"
        sent = render(outgoing, self.rules, dialect=self.dialect)
        self.requests.append(Request(json.loads(json.dumps({"system": system, key: sent})), self.declared))
        self.declared = ""

    def check(self):
        return check_prefixes(self.requests)

    def shown(self) -> list[dict[str, Any]]:
        """What people see."""
        return strip_injected(self.messages, self.dialect)
