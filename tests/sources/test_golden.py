"""Each source's sample gives the listed records; the golden files say what we read of each form."""

from __future__ import annotations

import json

import pytest

from pi_rank.memory.records import decode_record
from tests.sources.sampled import CASES, golden_file, read_case


@pytest.mark.parametrize("name", CASES)
def test_the_sample_gives_the_listed_records(name, home):
    assert read_case(name, home) == golden_file(name).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", CASES)
def test_ids_are_unique_and_stay(name, home):
    first = [json.loads(line) for line in read_case(name, home)]
    ids = [row["id"] for row in first if "id" in row]
    assert len(ids) == len(set(ids)) > 0
    assert [json.loads(line).get("id") for line in read_case(name, home)] == [row.get("id") for row in first]


@pytest.mark.parametrize("name", CASES)
def test_each_record_is_one_of_pis(name, home):
    for line in read_case(name, home):
        fields = json.loads(line)
        if "skipped" not in fields:
            fields = {"layer": "L2", "status": "active", **fields}
            del fields["file"], fields["line"]
            record = decode_record(json.dumps(fields).encode())
            assert set(record.extra) <= {"read_by"}
            assert record.evidence[0].ref.startswith("~/")
