"""One memory root, one folder, one prompt, and what any door says of the turn."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.memory import DEFAULTS

PROMPT = "How are payments settled, and may I print tokens in the log of the ledger job?"
PROJECT = "orchard-api"
REPOSITORY = Path(__file__).resolve().parents[2]

_HERE = {"type": "project", "project": PROJECT}
_ELSEWHERE = {"type": "project", "project": "lumen-app"}
RECORDS = [
    {"id": "mem_who", "layer": "L1", "statement": "Works from 09:00 to 18:00."},
    {"id": "mem_secrets", "ruleType": "avoid_pattern", "statement": "Print tokens and passwords in a log."},
    {"id": "mem_here", "scope": _HERE, "statement": "Payments are settled nightly by the ledger job."},
    {"id": "mem_mine", "profile_id": f"project:{PROJECT}", "statement": "The ledger job runs at 02:00."},
    {
        "id": "mem_unheard",
        "ruleType": "anti_pattern",
        "statement": "Settle ledger payments by hand.",
    },
    {"id": "mem_elsewhere", "scope": _ELSEWHERE, "statement": "Payments of lumen are settled weekly."},
    {"id": "mem_yours", "profile_id": "project:lumen-app", "statement": "Payments are settled by email."},
    {"id": "mem_quiet", "does_not_apply_when": ["print tokens"], "statement": "Payments need two people."},
    {"id": "mem_gone", "status": "superseded", "statement": "Payments are settled at noon."},
    {
        "id": "mem_disputed",
        "status": "contested",
        "ruleType": "avoid_pattern",
        "statement": "Settle payments before the ledger job has run.",
    },
]


class Answer(NamedTuple):
    """What a door says of a turn; None for what it does not say. `traces`: processor, in, out, reasons."""

    block: str
    selected: list[str] | None = None
    rules: list[str] | None = None
    contested: list[str] | None = None
    traces: list[tuple[Any, ...]] | None = None


class World(NamedTuple):
    """Where all doors are: `environment` is that of their processes."""

    root: Path
    folder: Path
    home: Path
    environment: dict[str, str]

    def run(self, *words: str, stdin: str | None = None) -> str:
        """What `pi-rank` prints, started in the folder."""
        command = [sys.executable, "-m", "pi_rank.cli", *words]
        ran = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout


def make_world(home: Path, day: str) -> World:
    """A memory with something for each section of the block, the log and the sessions of that day
    included."""
    root, folder = home / "root", home / "work" / PROJECT
    for made in (root / "memory", root / "daily", root / "sessions", folder):
        made.mkdir(parents=True)
    _write(root / "memory/L2.playbooks.jsonl", [DEFAULTS | record for record in RECORDS])
    (root / "scratchpad.md").write_text("- [ ] ask who owns the ledger\n", encoding="utf-8")
    (root / f"daily/{day}.md").write_text("### Morning\n- settled the ledger incident\n", encoding="utf-8")
    session = {"id": "s1", "date": day, "project": PROJECT, "name": "Ledger", "decisions": ["run it twice"]}
    _write(root / "sessions/session-index.jsonl", [session])
    environment = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    environment |= {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "PI_RANK_CACHE_DIR": str(home / "stores"),
        "PI_MEMORY_ROOT": str(root),
        "PI_RANK_QMD_DAEMON": "off",
        "PYTHONPATH": str(REPOSITORY),
    }
    return World(root, folder, home, environment)


def answer(turn: dict[str, Any], *, reasons: bool = True) -> Answer:
    """The answer of a turn's JSON."""
    traces = [
        (
            trace["processor"],
            trace["input_count"],
            trace["output_count"],
            *([trace["exclusion_reasons"]] if reasons else []),
        )
        for trace in turn["traces"]
    ]
    ids = ([row["id"] for row in turn[name]] for name in ("selected", "hard_rules", "contested"))
    return Answer(turn["markdown"], *ids, traces)


def stored(text: str) -> str:
    """A block out of a conversation, as the turn had it: without the ids that stored hard rules carry."""
    return re.sub(r"(?m)^((?:⚠️ AVOID|✓ PREFER|📌 CONVENTION|📌 RULE): \[)\S+, (?=conf )", r"\1", text).strip()


def _write(path: Path, values: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
