"""Memory roots of a case on the disk, and what a plain reading says of them."""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

from pi_rank import SessionContext
from pi_rank.memory.root import MemoryRoot
from tests.campaign.corpus import as_bytes
from tests.campaign.values import raw_line, record, spoil, text, words
from tests.reference.files.root_contents import plain_records
from tests.reference.processors import exclusion, misplaced
from tests.support.memory_files import replace_with

L1, L2 = "memory/L1.identity.jsonl", "memory/L2.playbooks.jsonl"
WEB, OTHER = "memory/projects/web.jsonl", "memory/projects/other-project.jsonl"
TOMBSTONES, PROFILES = "memory/tombstones.jsonl", "memory/profiles.jsonl"
SESSIONS, DAILY, SCRATCHPAD = "sessions/session-index.jsonl", "daily/2026-06-30.md", "scratchpad.md"
TODAY = date(2026, 6, 30)
HERE = {"profile_id": "project:mine", "repository_id": "web", "working_directory": "/nowhere/web"}
CANARY = re.compile(r"canary\d+x")


def some_files(chance, count):
    """Files of a root by name, as texts of a case: so many lines of records, most of them spoiled."""
    lines = {L1: [], L2: [], WEB: [], OTHER: []}
    deleted = []
    for number in range(count):
        name = chance.choice([L1, L2, L2, L2, WEB, OTHER])
        made = record(chance, number)
        if name == L1:
            made["layer"] = "L1"
        if chance.random() < 0.05:
            deleted.append({"deleted_record_id": made["id"], "deletion_mode": "privacy_purge"})
        spoiled = spoil(chance, made, chance.choice([1, 1, 2, 4])) if chance.random() < 0.7 else made
        lines[name].append(raw_line(chance, spoiled))
    ending = chance.choice(["\n", "\n", "\n", "\r\n"])
    files = {
        name: ending.join([*found, ""] if chance.random() < 0.7 else found) for name, found in lines.items()
    }
    if chance.random() < 0.1:
        files[L2] = "\ufeff" + files[L2]
    files[TOMBSTONES] = "".join(
        raw_line(chance, item) + "\n" for item in spoil(chance, [*deleted, {}], 1) or []
    )
    return files | _beside(chance)


def _beside(chance):
    """The files that are no governed memory."""
    session = {
        "id": "s",
        "date": chance.choice(["2026-06-30", "2026-06-30T10:00:00Z", "x"]),
        "project": text(chance),
        "name": text(chance),
        "firstMessage": text(chance),
        "decisions": [text(chance)],
    }
    sessions = [
        raw_line(chance, spoil(chance, session | {"id": f"s{n}"})) for n in range(chance.randrange(6))
    ]
    config = {"retrieval": {"injectionMode": "scoped", "maxRecords": chance.choice([0, 3, 12, 1_000])}}
    files = {
        SESSIONS: "\n".join(sessions),
        DAILY: _note(chance, ""),
        SCRATCHPAD: _note(chance, "- [ ] "),
        PROFILES: raw_line(chance, spoil(chance, {"profile_id": "project:mine", "resource_id": "r"})),
    }
    if chance.random() < 0.15:  # seldom: a turn without a last good state waits for one that cannot be read
        files["config.json"] = raw_line(chance, spoil(chance, config) if chance.random() < 0.3 else config)
    return files


def _note(chance, mark):
    return "\n".join(chance.choice(["", mark, mark]) + text(chance) for _ in range(chance.randrange(12)))


def write_files(root, files):
    """Puts the files of a case in the place of those that are there; what the case does not name goes."""
    for old in [path for path in root.rglob("*") if path.is_file()]:
        if old.relative_to(root).as_posix() not in files:
            old.unlink()
    (root / "memory").mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        replace_with(root / name, _storable(content))


def _storable(content):
    """Bytes of a text of a case, whose own surrogates may be of either kind."""
    try:
        return as_bytes(content)
    except UnicodeEncodeError:
        return content.encode("utf-8", "surrogatepass")


class Truth(NamedTuple):
    """What a plain reading finds: records by id, what is skipped, and which texts may be shown in a turn."""

    records: dict
    skipped: list
    tombstones: frozenset

    def forbidden(self, context):
        """Canaries that stand in records that may not speak in a turn, and in none that may."""
        shown, hidden = set(), set()
        for one in self.records.values():
            may = one.id not in self.tombstones and (
                one.status in ("active", "contested") and misplaced(one, context) is None
            )
            (shown if may else hidden).update(CANARY.findall(one.statement))
        return hidden - shown

    def may_be_found(self, id_, context):
        """Whether a search in a place, or anywhere, may give the record with this id."""
        found = self.records.get(id_)
        if found is None or context is None:
            return found is not None and found.status == "active" and id_ not in self.tombstones
        return exclusion(found, context, self.tombstones) is None


def truth_of(root):
    """The plain reading of a root."""
    files = MemoryRoot(root).read_files()
    found, skipped = plain_records(files)
    tombstones = MemoryRoot(root).read().tombstones
    return Truth({each.record.id: each.record for each in found}, skipped, tombstones)


def some_turns(chance, count):
    """Questions of a case, with the bytes that their blocks may have."""
    return [
        {
            "prompt": chance.choice(
                [f"how do we {words(chance, 8)}?", text(chance), f"canary{chance.randrange(99)}x"]
            ),
            "max_bytes": chance.choice([14_000, 14_000, 14_000, 0, 1, 50, 200, 777, 3_000, 10**6]),
        }
        for _ in range(count)
    ]


def context_of(turn):
    """The context of a question."""
    return SessionContext(latest_user_message=turn.get("prompt", ""), **HERE)
