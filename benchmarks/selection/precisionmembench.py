"""PrecisionMemBench (tenurehq/precisionMemBench, MIT): what may and must not come back, by its protocol.

Persona, pinned facts and open questions come from the fixtures, as its adapters take them; only relevant
beliefs are retrieved, for each scope of a case. Those that are pinned are dropped from what comes back. A
belief's statement is its canonical name, aliases, content and reason, as the adapters write it; its name and
aliases are also the phrases when it applies. Precision is none where nothing is expected and nothing comes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from pi_rank import MemoryEngine, SessionContext

if TYPE_CHECKING:
    from pathlib import Path

    from pi_rank.embedding import Embedder

USER = "test-user"
UNIVERSAL = "user:universal"  # who the user is: the persona, and no relevant belief
DEFAULT_BUDGET = 20
# Its status words, in those of a record: what is not decided is no fact, and comes back by another way.
STATUS = {"active": "active", "inferred": "active", "superseded": "superseded", "exploratory": "contested"}


class Scored(NamedTuple):
    """Means over the cases that have them, and how many cases pass of how many."""

    precision: float
    recall: float
    passed: int
    cases: int


class Case(NamedTuple):
    """One case's answer: `precision` and `recall` are None where there is nothing to measure."""

    name: str
    precision: float | None
    recall: float | None
    passed: bool
    found: tuple[str, ...] = ()


def scored(cases: list[Case]) -> Scored:
    """The figures that its leaderboard shows."""
    precision = [case.precision for case in cases if case.precision is not None]
    recall = [case.recall for case in cases if case.recall is not None]
    passed = sum(case.passed for case in cases)
    return Scored(sum(precision) / len(precision), sum(recall) / len(recall), passed, len(cases))


def answers(
    folder: Path, cache: Path, embedder: Embedder, *, least: float | None, aliases: bool
) -> list[Case]:
    """Each case of the fixtures in `folder`.

    :param least: the turns' `min_relevance`.
    :param aliases: whether records have the phrases when they apply.
    """
    beliefs = json.loads((folder / "beliefs.seed.json").read_text("utf-8"))
    cases = json.loads((folder / "retrieval.cases.json").read_text("utf-8"))
    write_root(beliefs, cache / "root", aliases=aliases)
    pinned = [belief for belief in beliefs if belief["pinned"] and belief["user_id"] == USER]
    with MemoryEngine.open(cache / "root", store=cache / "store.sqlite3", model=embedder) as engine:
        engine.sync()
        return [_judged(case, _found(engine, case, least, pinned)) for case in cases]


def write_root(beliefs: list[dict[str, Any]], root: Path, *, aliases: bool) -> None:
    """A memory root of the beliefs; each scope of a user is a profile."""
    memory = root / "memory"
    memory.mkdir(parents=True, exist_ok=True)
    records = [_record(belief, scope, aliases) for belief in beliefs for scope in belief["scope"]]
    for layer, name in (("L1", "L1.identity.jsonl"), ("L2", "L2.playbooks.jsonl")):
        lines = [json.dumps(record) for record in records if record["layer"] == layer]
        (memory / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")


def _record(belief: dict[str, Any], scope: str, aliases: bool) -> dict[str, Any]:
    names = [belief["canonical_name"], *belief["aliases"]]
    record = {
        "id": belief["_id"],
        "layer": "L1" if scope == UNIVERSAL else "L2",
        "status": "contested" if belief["type"] == "open_question" else STATUS[belief["epistemic_status"]],
        "confidence": belief["confidence"],
        "statement": " ".join([*names, belief["content"], belief["why_it_matters"]]),
        "profile_id": f"{belief['user_id']} {scope}",
        "superseded_by": [belief["superseded_by"]] if belief["superseded_by"] else [],
        "updated_at": belief["updated_at"],
    }
    if belief["resolved_at"]:
        record["valid_to"] = belief["resolved_at"]
    return record | ({"applies_when": names} if aliases else {})


def _found(
    engine: MemoryEngine, case: dict[str, Any], least: float | None, pinned: list[dict[str, Any]]
) -> set[str]:
    """The L2 records that turns in the case's scopes select, within what its budget leaves."""
    facts = [belief for belief in pinned if belief["type"] != "open_question" and not belief["resolved_at"]]
    shown = sum(1 for belief in facts if set(belief["scope"]) & set(case["scope"]))
    places = max(0, case.get("budget", {}).get("maxBeliefs", DEFAULT_BUDGET) - shown)
    found: list[str] = []
    for scope in case["scope"]:
        turn = SessionContext(
            latest_user_message=case["query"], profile_id=f"{case.get('userId', USER)} {scope}"
        )
        answer = engine.build_retrieval_context(turn, max_records=12, min_relevance=least)
        found += [hit.id for hit in answer.selected if hit.layer == "L2"]
    left = dict.fromkeys(found).keys() - {belief["_id"] for belief in pinned}
    return set([name for name in dict.fromkeys(found) if name in left][:places])


def _judged(case: dict[str, Any], found: set[str]) -> Case:
    wanted = case["expect"].get("relevantBeliefs", {})
    expected = set(wanted.get("shouldOnlyInclude", wanted.get("mustInclude", [])))
    hits = len(found & expected)
    precision = hits / len(found) if found else (0.0 if expected else None)
    exact = "shouldOnlyInclude" not in wanted or found == expected
    passed = exact and not found & set(wanted.get("mustExclude", []))
    return Case(
        case["caseId"], precision, hits / len(expected) if expected else None, passed, tuple(sorted(found))
    )
