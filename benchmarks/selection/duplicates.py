"""Facts that were written down four times: how many places copies take, and who stands for them."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.tables import table
from pi_rank import MemoryEngine, SessionContext

if TYPE_CHECKING:
    from pi_rank.embedding import Embedder

# A question, and four ways in which its answer was noted, oldest first.
FACTS: tuple[tuple[str, tuple[str, str, str, str]], ...] = (
    (
        "how do I restart the proxy?",
        (
            "Restart the proxy after a certificate change.",
            "After a certificate change, restart the proxy.",
            "The proxy needs a restart after each change of the certificate.",
            "When the certificate changes, the proxy must be restarted.",
        ),
    ),
    (
        "where do the nightly backups go?",
        (
            "Nightly backups are written to the cold bucket.",
            "The nightly backups go to the cold storage bucket.",
            "Backups of the night are stored in the cold bucket.",
            "Each night the backup is copied into the cold bucket.",
        ),
    ),
    (
        "who approves schema changes?",
        (
            "Schema changes are approved by the data team.",
            "The data team approves every schema change.",
            "Ask the data team to approve a schema change.",
            "A schema change needs the approval of the data team.",
        ),
    ),
    (
        "which package manager does the frontend use?",
        (
            "The frontend uses pnpm as its package manager.",
            "Use pnpm in the frontend as the package manager.",
            "pnpm is the package manager of the frontend.",
            "In the frontend, packages are managed with pnpm.",
        ),
    ),
    (
        "how are feature flags named?",
        (
            "Feature flags are named after the team and the ticket.",
            "Name a feature flag after its team and ticket.",
            "A feature flag's name is its team and its ticket.",
            "The names of feature flags consist of team and ticket.",
        ),
    ),
    (
        "when do we rotate the signing keys?",
        (
            "Signing keys are rotated at the start of each quarter.",
            "Rotate the signing keys at the start of every quarter.",
            "At the beginning of each quarter the signing keys are rotated.",
            "The signing keys change with each new quarter.",
        ),
    ),
    (
        "what do log lines look like?",
        (
            "Log lines are JSON objects with a request id.",
            "Every log line is a JSON object that has a request id.",
            "Write log lines as JSON with the request id.",
            "Logs are written as JSON objects including the request id.",
        ),
    ),
    (
        "how do I run the integration tests?",
        (
            "Integration tests run against a database in a container.",
            "Run the integration tests against a database in a container.",
            "The integration tests need a database that runs in a container.",
            "For integration tests, a database is started in a container.",
        ),
    ),
    (
        "what must a pull request description say?",
        (
            "A pull request description says why, not what.",
            "Say why in the description of a pull request, not what.",
            "The description of a pull request explains why, not what.",
            "Pull request descriptions tell the reason, not what changed.",
        ),
    ),
    (
        "how long do sessions last?",
        (
            "User sessions expire after an hour without activity.",
            "A user's session expires after an hour without activity.",
            "Sessions of users end after one hour of inactivity.",
            "After an hour without activity the user session expires.",
        ),
    ),
)
OTHERS = 160
_SUBJECTS = (  # noqa: SIM905
    "invoice export, search index, mobile build, error page, rate limiter, image cache, mail queue, "
    "audit log, billing job, login form, report generator, webhook sender, map view, price list, "
    "upload form, chat window"
).split(", ")
_NOTES = (
    "The {0} was rewritten last spring and nobody touched it since.",
    "Ask the owner of the {0} before changing its interface.",
    "The {0} is slow on large accounts; profile it first.",
    "Tests of the {0} live beside its source.",
    "The {0} has its own dashboard and its own alert.",
    "Do not release the {0} without a second pair of eyes.",
    "The {0} reads its settings from the environment.",
    "A broken {0} is not worth waking anybody.",
    "The {0} will be replaced when the contract ends.",
    "Documentation of the {0} is out of date in places.",
)


def measured(embedder: Embedder) -> str:
    """A table: records that turns select, those that repeat another one, and facts led by the newest."""
    with tempfile.TemporaryDirectory() as folder:
        root = _root(Path(folder) / "root")
        with MemoryEngine.open(root, store=Path(folder) / "store.sqlite3", model=embedder) as engine:
            engine.sync()
            shown = wasted = newest = siblings = 0
            for fact, (question, _) in enumerate(FACTS):
                answer = engine.build_retrieval_context(SessionContext(latest_user_message=question))
                own = [hit.id for hit in answer.selected if hit.id.startswith(f"mem_fact{fact}_")]
                shown += len(answer.selected)
                wasted += max(0, len(own) - 1)
                newest += own[:1] == [f"mem_fact{fact}_3"]
                siblings += len(
                    {*own, *(each for name in own for each in answer.stats["folded"].get(name, ()))}
                )
    rows = [
        ["records selected", str(shown)],
        ["of these, repeating another one", str(wasted)],
        ["facts led by their newest statement", f"{newest} of {len(FACTS)}"],
        ["statements shown or named", f"{siblings} of {4 * len(FACTS)}"],
    ]
    return table([f"{len(FACTS)} facts, each in four statements, among {OTHERS} others", ""], rows)


def _root(root: Path) -> Path:
    records = [
        _record(f"mem_fact{fact}_{number}", statement, f"2026-0{number + 1}-01")
        for fact, (_, statements) in enumerate(FACTS)
        for number, statement in enumerate(statements)
    ]
    notes = [note.format(subject) for note in _NOTES for subject in _SUBJECTS]
    records += [_record(f"mem_note{n}", note, "2026-03-01") for n, note in enumerate(notes[:OTHERS])]
    (root / "memory").mkdir(parents=True)
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (root / "memory" / "L2.playbooks.jsonl").write_text(lines, "utf-8")
    return root


def _record(name: str, statement: str, updated: str) -> dict[str, object]:
    return {
        "id": name,
        "layer": "L2",
        "status": "active",
        "confidence": 0.9,
        "statement": statement,
        "updated_at": updated,
    }
