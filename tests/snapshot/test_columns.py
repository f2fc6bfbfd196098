"""Stored records as columns, and the masks of a place."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import pytest

from pi_rank.memory.records import decode_record, encode_record
from pi_rank.snapshot.columns import (
    ANY_PROJECT,
    NO_PROFILE,
    NO_READER,
    STATUS_CODES,
    TOMBSTONED,
    Codebook,
    Codebooks,
    Phrases,
    place_masks,
    read_columns,
    read_phrases,
)
from pi_rank.store.rows import StoredRow
from tests.support.memory import DEFAULTS


def stored(number, *, tombstoned=False, text=b"text", **fields):
    record = decode_record(json.dumps(DEFAULTS | {"id": f"mem_{number}"} | fields).encode())
    return StoredRow(number, record.id, encode_record(record), tombstoned, text, b"")


def columns_of(*rows):
    books = Codebooks.of()
    columns, texts = read_columns(rows, books)
    return columns, texts, books


def test_each_fact_has_its_column():
    columns, texts, books = columns_of(
        stored(1, layer="L1", confidence=0.5, status="contested"),
        stored(2, profile_id="project:1", scope={"type": "project", "project": "My App"}, text=b"other"),
        stored(3, tombstoned=True, does_not_apply_when=["in CI"], known_exceptions=["on Windows"]),
        stored(4, valid_from="2026-03-01", valid_to="2026-03-31T10:00:00Z"),
        stored(5, valid_from="soon", valid_to="2026-3-1"),
    )
    assert columns.status.tolist() == [STATUS_CODES["contested"], STATUS_CODES["active"], TOMBSTONED, 0, 0]
    assert columns.layer.tolist() == [1, 2, 2, 2, 2]
    assert columns.profile.tolist() == [NO_PROFILE, books.profiles.get("project:1"), *[NO_PROFILE] * 3]
    assert columns.project.tolist() == [ANY_PROJECT, books.projects.get("my-app"), *[ANY_PROJECT] * 3]
    assert columns.confidence.tolist() == [0.5, *[0.9] * 4]
    assert columns.text.tolist() == [0, 1, 0, 0, 0]
    assert columns.readers.tolist() == [NO_READER] * 5
    assert texts.phrases == [Phrases(), Phrases(), Phrases(("in CI", "on Windows")), Phrases(), Phrases()]
    always = (date.min.toordinal(), date.max.toordinal())
    march = (date(2026, 3, 1).toordinal(), date(2026, 3, 31).toordinal())
    days = zip(columns.valid_from.tolist(), columns.valid_to.tolist(), strict=True)
    assert list(days) == [always, always, always, march, always]
    assert [column.dtype.name for column in columns] == [
        "uint8",
        "uint8",
        "int32",
        "int32",
        "float64",
        "bool",
        "int32",
        "int32",
        "int32",
        "int32",
    ]


def test_folders_and_readers_have_codes_of_their_own():
    columns, _, books = columns_of(
        stored(1, read_by=["codex", "claude-code"], scope={"type": "project", "project": "/home/x/app/"}),
        stored(2, read_by="codex"),
        stored(3, read_by=["codex", 7]),
    )
    assert columns.project.tolist() == [books.projects.get("/home/x/app"), ANY_PROJECT, ANY_PROJECT]
    both, one = books.readers.get("claude-code codex "), books.readers.get("codex ")
    assert columns.readers.tolist() == [both, NO_READER, one]
    for reader, left in (("codex", [2]), ("claude-code", [2, 3]), ("code", [1, 2, 3]), (None, [1, 2, 3])):
        masks = place_masks(
            columns, np.ones(3, np.bool_), books, None, frozenset({"/home/x/app"}), None, reader
        )
        assert (np.flatnonzero(masks.in_project) + 1).tolist() == left
        assert (np.flatnonzero(~masks.read_by_itself) + 1).tolist() == left


def test_phrases_are_read_alone_as_with_the_columns():
    row = stored(1, does_not_apply_when=["b", "a"], known_exceptions=["c"], applies_when=["d"])
    assert read_phrases(row.payload) == columns_of(row)[1].phrases[0] == Phrases(("b", "a", "c"), ("d",))


def test_a_project_that_is_not_named_is_every_project():
    rows = [stored(1, scope={"type": "project"}), stored(2, scope={"type": "project", "project": " "})]
    columns, _, books = columns_of(*rows, stored(3, scope={"type": "project", "project": "???"}))
    assert columns.project.tolist() == [ANY_PROJECT, ANY_PROJECT, books.projects.get("")]


def test_the_project_of_an_identity_record_does_not_matter():
    scope = {"type": "project", "project": "app"}
    columns, _, _ = columns_of(stored(1, layer="L1", scope=scope), stored(2, layer="L2", scope=scope))
    assert columns.project.tolist() == [ANY_PROJECT, 0]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"ruleType": "correction", "confidence": 0.95}, True),
        ({"ruleType": "workflow", "confidence": 0.95}, False),
        ({"ruleType": "correction", "confidence": 0.5}, False),
        ({"ruleType": "correction", "confidence": 0.95, "layer": "L1"}, False),
        ({"ruleType": "correction", "confidence": 0.95, "status": "contested"}, False),
        ({"ruleType": "correction", "confidence": 0.95, "tombstoned": True}, False),
    ],
)
def test_hard_rules(fields, expected):
    columns, _, _ = columns_of(stored(1, **fields))
    assert columns.hard_rule.tolist() == [expected]


def test_a_codebook_gives_codes_in_order_of_first_sight():
    book = Codebook(first=1)
    assert [book.add(name) for name in ("b", "a", "b")] == [1, 2, 1]
    assert (book.get("a"), book.get("c"), len(book)) == (2, None, 2)
    again = Codebook(1, book.names())
    assert [again.get("b"), again.get("a"), again.add("c")] == [1, 2, 3]
    assert book.get("c") is None


def test_columns_follow_each_other():
    first, _, _ = columns_of(stored(1, layer="L1"))
    second, _, _ = columns_of(stored(2), stored(3, confidence=0.4))
    both = first.followed_by(second)
    assert both.layer.tolist() == [1, 2, 2]
    assert both.confidence.tolist() == [0.9, 0.9, 0.4]


def test_a_place_has_its_profile_its_projects_and_what_is_of_none():
    rows = (
        stored(0),
        stored(1, profile_id="project:1"),
        stored(2, profile_id="project:2"),
        stored(3, scope={"type": "project", "project": "app"}),
        stored(4, scope={"type": "project", "project": "web"}),
        stored(5, status="contested", profile_id="project:1"),
        stored(6, status="deprecated"),
        stored(7),
    )
    columns, _, books = columns_of(*rows)
    live = np.array([True] * 7 + [False])
    place = place_masks(columns, live, books, "project:1", frozenset({"app", "unheard-of"}))
    assert np.flatnonzero(place.active).tolist() == [0, 1, 2, 3, 4]
    assert np.flatnonzero(place.in_profile).tolist() == [0, 1, 3, 4]
    assert np.flatnonzero(place.in_project).tolist() == [0, 1, 3]
    assert np.flatnonzero(place.contested).tolist() == [5]
    assert place.counts == (7, 5, 4, 3)
    assert not len(place.by_pi_profile)
    also = place_masks(columns, live, books, "project:1", frozenset({"app"}), pi_project_id="2")
    assert np.flatnonzero(also.in_profile).tolist() == [0, 1, 2, 3, 4]
    assert (also.by_pi_profile.tolist(), also.by_pi_project.tolist()) == ([2], [])
    also = place_masks(columns, live, books, "project:1", frozenset({"app"}), pi_project_id="Web")
    assert np.flatnonzero(also.in_project).tolist() == [0, 1, 3, 4]
    assert (also.by_pi_profile.tolist(), also.by_pi_project.tolist()) == ([], [4])
    nowhere = place_masks(columns, live, books, "project:9", frozenset())
    assert np.flatnonzero(nowhere.in_project).tolist() == [0]
    assert not nowhere.contested.any()
