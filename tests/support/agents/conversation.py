"""What must hold of every agent's conversation, read from the requests that reached the model."""

from __future__ import annotations

import html
import json
import re
from itertools import pairwise

from pi_rank.cli.program import main
from tests.support.agents.dialects import texts

PROMPTS = (
    "Can I deploy orchard to production this Friday, and what do I run first?",
    "How do I look at the staging database of orchard? USETOOL",
    "What has to be in a database migration of orchard?",
    "Write the release note for orchard 2.14.",
)
MARK = "[pi-rank recall]"
DELETED = "mem_20260401_deploycmd"  # in the first block of this conversation
_SHOWN = re.compile(r"^(?:- (mem_\w+) \[|\W* ?[A-Z]+: \[(mem_\w+), conf )", re.MULTILINE)


def blocks(body):
    """The texts with our blocks, in the order of the request, each once."""
    return [html.unescape(text) for _, said in texts(body) for text in said if MARK in text]


def shown(block):
    """Ids of the records that a block shows."""
    return [first or second for first, second in _SHOWN.findall(block)]


def delete(root, record_id=DELETED):
    """Mark a record as deleted, in its own memory file."""
    for path in root.rglob("*.jsonl"):
        lines = path.read_text("utf-8").splitlines()
        records = [json.loads(line) for line in lines]
        if any(record.get("id") == record_id for record in records):
            for record in records:
                record["status"] = "tombstoned" if record.get("id") == record_id else record.get("status")
            path.write_text(
                "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), "utf-8"
            )
            return
    raise AssertionError(f"there is no {record_id}")


def check_place(body, words, role, where):
    """The newest block's role, and where it stands to the user's words."""
    places = [
        (at, number, said_role, text)
        for at, (said_role, said) in enumerate(texts(body))
        for number, text in enumerate(said)
    ]
    block = next(each for each in reversed(places) if MARK in each[3])
    own = next(each for each in reversed(places) if words in each[3] and MARK not in each[3])
    assert block[2] == role
    if where == "own message after":
        assert block[0] == own[0] + 1
    else:
        assert block[0] == own[0]
        assert (block[1] < own[1]) == (where == "before")


def check_novelty(bodies):
    """No record is shown twice, whatever its turn."""
    every = [each for block in blocks(bodies[-1]) for each in shown(block)]
    assert every, "no block reached the model"
    assert len(every) == len(set(every))


def check_kept(bodies):
    """Blocks come again as they were, each request's at the beginning of the next one's."""
    for before, after in pairwise(bodies):
        assert blocks(after)[: len(blocks(before))] == blocks(before)


def check_prefixes(server, path, capsys):
    """`pi-rank prefix-check` finds no break in what was sent."""
    code = main(["prefix-check", str(server.write(path))])
    said = capsys.readouterr().out
    assert code == 0, said
    assert "0 undeclared breaks" in said
