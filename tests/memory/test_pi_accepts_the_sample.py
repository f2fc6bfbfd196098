"""The sample is a root as PI writes one, every line of it; PI 0.12.0 itself was seen to take it whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pi_rank
from pi_rank.errors import RecordError
from pi_rank.memory.records import decode_record
from tests.reference.files.pi_files import profile_fault, record_fault, session_fault, tombstone_fault

SAMPLE = Path(pi_rank.__file__).parent / "sample"
MEMORY = SAMPLE / "memory"


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


RECORDS = [
    record
    for path in [
        MEMORY / "L1.identity.jsonl",
        MEMORY / "L2.playbooks.jsonl",
        *sorted((MEMORY / "projects").glob("*.jsonl")),
    ]
    for record in lines(path)
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["id"])
def test_records(record):
    assert record_fault(record) is None
    assert decode_record(json.dumps(record).encode()).extra == {}


@pytest.mark.parametrize(
    ("file", "fault", "count"),
    [
        ("memory/tombstones.jsonl", tombstone_fault, 1),
        ("memory/profiles.jsonl", profile_fault, 4),
        ("sessions/session-index.jsonl", session_fault, 6),
    ],
)
def test_other_files(file, fault, count):
    assert [fault(line) for line in lines(SAMPLE / file)] == [None] * count


def test_the_index_shows_what_is_left_out():
    today = [line for line in lines(SAMPLE / "sessions/session-index.jsonl") if line["date"] == "2026-06-30"]
    assert sum(line["archived"] for line in today) == 1
    assert len(today) == 5


REQUIRED = [
    "id",
    "layer",
    "scope",
    "tags",
    "statement",
    "evidence",
    "confidence",
    "stability",
    "created_at",
    "updated_at",
    "review",
    "supersedes",
    "superseded_by",
    "status",
    "vault_ref",
]


@pytest.mark.parametrize("name", REQUIRED)
def test_a_record_without_one_of_these_is_none_for_pi(name):
    assert record_fault({key: value for key, value in RECORDS[0].items() if key != name}) == name


@pytest.mark.parametrize("name", ["cadence_days", "next_review", "change_condition"])
def test_a_review_without_one_of_these_is_none_for_pi(name):
    review = {key: value for key, value in RECORDS[0]["review"].items() if key != name}
    assert record_fault(RECORDS[0] | {"review": review}) == f"review.{name}"


@pytest.mark.parametrize("name", sorted({*REQUIRED} - {"id", "layer", "statement", "confidence", "status"}))
def test_ours_needs_less(name):
    decode_record(json.dumps({key: value for key, value in RECORDS[0].items() if key != name}).encode())


@pytest.mark.parametrize("name", ["id", "layer", "statement", "confidence", "status"])
def test_ours_needs_these(name):
    with pytest.raises(RecordError, match=name):
        decode_record(json.dumps({key: value for key, value in RECORDS[0].items() if key != name}).encode())
