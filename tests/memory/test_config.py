from __future__ import annotations

import json

import pytest

from pi_rank.memory.config import RootConfig, parse_config


def parse(**document):
    return parse_config(json.dumps(document).encode())


def test_all_settings():
    config = parse(
        retrieval={"injectionMode": "wakeup", "maxRecords": 20, "maxL1Records": 2, "maxL2Records": 5},
        qmd={"collection": "mine", "enabled": False},
    )
    assert config == RootConfig("wakeup", 20, 2, 5, "mine", False)


@pytest.mark.parametrize("data", [b"", b"  \n", b"{}", b'{"retrieval": null, "other": 1}'])
def test_nothing_said_is_the_default(data):
    assert parse_config(data) == RootConfig()


@pytest.mark.parametrize("data", [b"{", b"[]", b"\x00", b'{"retrieval": {"maxRecords": NaN}}'])
def test_what_is_not_json_is_one_warning_and_the_defaults(data):
    config = parse_config(data)
    assert config == RootConfig(warnings=config.warnings)
    assert len(config.warnings) == 1
    assert config.warnings[0].startswith("config.json: ")


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
        (
            {"retrieval": {"injectionMode": "all"}},
            "config.json: retrieval.injectionMode: expected scoped, policy_only or wakeup, got 'all'; "
            "scoped is used",
        ),
        ({"retrieval": 5}, "config.json: retrieval: expected an object, got 5; its defaults are used"),
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
