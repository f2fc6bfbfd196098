"""What holds of any block: its size, its lines, and that nobody speaks in it who may not."""

from __future__ import annotations

import json
import re

from pi_rank.block.lines import contested_line, hard_rule_line, record_line
from pi_rank.block.sections import CONTESTED_WARNING
from pi_rank.block.staleness import utc_seconds
from tests.campaign.roots import CANARY
from tests.reference.reader import taken_for

HEADINGS = [
    "Hard Rules",
    "Selected Memory",
    "Scratchpad",
    "Contested Memory",
    "Daily Log",
    "Today's Sessions",
]
HEADING = re.compile(r"## (.+?)(?: \(\d{4}-\d\d-\d\d\))?")
LABEL = re.compile(r"> |- \[ \] |- \[[^\s\[\]［］]*\] ")
QUIET = ("policy_only", "wakeup")  # modes whose blocks are made of no text of anybody's
OURS = re.compile(r"Sessions today: \d+|… \d+ more not shown|")


def check_block(trial, result, turn, truth, context, today):
    """Notes what is wrong with the answer to one question."""
    markdown, most = result.markdown, turn.get("max_bytes", 14_000)
    trial.check(len(markdown.encode()) <= most, "block: too long", f"{len(markdown.encode())} > {most}")
    json.dumps(result.to_dict()).encode()
    for canary in truth.forbidden(context):
        trial.check(canary not in markdown, "block: a record that may not speak", canary)
    for hit in result.selected:
        trial.check(truth.may_be_found(hit.id, context), "block: selected what may not speak", hit.id)
    if result.stats["injection_mode"] in QUIET:
        trial.check(not result.selected, "block: a closed memory shows records")
        trial.check(not CANARY.search(markdown), "block: a closed memory shows records", markdown)
    else:
        _check_lines(trial, result, today)


def _check_lines(trial, result, today):
    now = utc_seconds(today)
    rules, contested = map(hard_rule_line, result.hard_rules), map(contested_line, result.contested)
    selected = (record_line(hit.record, now) for hit in result.selected)
    labels = [line.label for line in (*rules, *selected, *contested)]
    seen = []
    lines = result.markdown.split("\n") if result.markdown else []
    for number, line in enumerate(lines):
        heading = HEADING.fullmatch(line)
        if number == 0:
            trial.check(line == "# Persistent Intelligence Context", "block: another title", ascii(line))
        elif heading and heading[1] in HEADINGS:
            seen.append(HEADINGS.index(heading[1]))
        elif OURS.fullmatch(line) or line + "\n" == CONTESTED_WARNING:
            continue
        elif label := next((label for label in labels if line.startswith(label)), ""):
            labels.remove(label)
        else:
            trial.check(taken_for(line) == "", f"block: a line poses as {taken_for(line)}", ascii(line))
            trial.check(LABEL.match(line), "block: a line without a label", ascii(line))
        trial.check(len(line.splitlines()) <= 1, "block: a line holds a line break", ascii(line))
    trial.check(seen == sorted(set(seen)), "block: headings out of order", str(seen))
