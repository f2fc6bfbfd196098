from __future__ import annotations

import json

import pytest

from pi_rank.errors import RecordError
from pi_rank.memory.config import RootConfig, parse_config


def parse(**document):
    return parse_config(json.dumps(document).encode())


def test_all_settings():
    config = parse(
        retrieval={"injectionMode": "wakeup", "maxRecords": 20, "maxL1Records": 2, "maxL2Records": 5},
        qmd={"collection": "mine", "enabled": False},
    )
    assert config == RootConfig("wakeup", 20, 2, 5, "mine", False)


@pytest.mark.parametrize("data", [b"{}", b'{"retrieval": null, "other": 1}'])
def test_nothing_said_is_the_default(data):
    assert parse_config(data) == RootConfig()


@pytest.mark.parametrize(
    "data", [b"", b"  \n", b"{", b"[]", b"\x00", b'{"retrieval": {"maxRecords": NaN}}', b"[" * 100_000]
)
def test_what_is_no_json_object_says_nothing(data):
    with pytest.raises(RecordError):
        parse_config(data)


@pytest.mark.parametrize("mode", ["all", "policy-only", "Scoped", 5, {}, [], True])
def test_a_mode_that_is_not_known_shows_nothing(mode):
    config = parse(retrieval={"injectionMode": mode, "maxRecords": 6})
    assert (config.injection_mode, config.max_records) == ("policy_only", 6)
    assert len(config.warnings) == 1


def test_settings_of_retrieval_that_are_no_object_show_nothing():
    config = parse(retrieval=5)
    assert config == RootConfig("policy_only", warnings=config.warnings)
    assert config.warnings == ("config.json: retrieval: expected an object, got 5; mode policy_only is used",)


@pytest.mark.parametrize(
    ("document", "warning"),
    [
        (
            {"retrieval": {"maxRecords": 0}},
            "config.json: retrieval.maxRecords: expected a whole number from 1 to 1000, got 0; 12 is used",
        ),
        (
            {"retrieval": {"maxRecords": True}},
            "config.json: retrieval.maxRecords: expected a whole number from 1 to 1000, got True; 12 is used",
        ),
        (
            {"retrieval": {"maxL2Records": 2.5}},
            "config.json: retrieval.maxL2Records: expected a whole number from 0 to 1000, got 2.5; "
            "the rest is used",
        ),
        ({"qmd": 5}, "config.json: qmd: expected an object, got 5; its defaults are used"),
        (
            {"qmd": {"enabled": "yes"}},
            "config.json: qmd.enabled: expected true or false, got 'yes'; true is used",
        ),
        (
            {"qmd": {"collection": ""}},
            "config.json: qmd.collection: expected a name, got ''; pi-persistent-intelligence is used",
        ),
    ],
)
def test_what_is_out_of_range_keeps_its_default_and_says_so(document, warning):
    assert parse(**document) == RootConfig(warnings=(warning,))


@pytest.mark.parametrize(
    ("config", "asked", "budgets"),
    [
        (RootConfig(), None, (12, 4, 8)),
        (RootConfig(), 5, (5, 1, 4)),
        (RootConfig(), 2, (2, 0, 2)),
        (RootConfig(), 40, (40, 4, 36)),
        (RootConfig(max_records=20, max_l1=2, max_l2=5), None, (20, 2, 5)),
        (RootConfig(max_l1=0), None, (12, 0, 12)),
    ],
)
def test_budgets(config, asked, budgets):
    assert config.budgets(asked) == budgets


def test_the_share_of_l1_is_exact():
    """A float says 62: 0.35 * 180 is 62.99999999999999."""
    assert RootConfig(max_l1=100).budgets(180) == (180, 63, 117)
