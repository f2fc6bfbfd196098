"""What docs/sources.md shows and nobody types is right as well."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from pi_rank.memory.config import parse_config
from pi_rank.memory.sources.protocol import SourceSpec
from pi_rank.sources.instructions import READERS, USER_FILES
from pi_rank.sources.registry import ENTRY_POINTS, OWN, open_sources

PAGE = Path(__file__).resolve().parents[2] / "docs/sources.md"
TEXT = PAGE.read_text(encoding="utf-8")


def block(language):
    return re.search(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)[1]


def test_the_configuration_can_be_used(home):
    config = parse_config(block("json").encode())
    assert config.warnings == ()
    assert [open_sources(spec, home) != [] for spec in config.sources] == [True, True]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib came with 3.11")
def test_the_entry_point_is_of_our_group():
    import tomllib

    assert list(tomllib.loads(block("toml"))["project"]["entry-points"]) == [ENTRY_POINTS]


def test_every_source_is_in_the_table():
    assert set(re.findall(r"^\| `([a-z0-9-]+)` \|", TEXT, re.MULTILINE)) - set(OWN) == set()
    assert set(OWN) - set(re.findall(r"^\| `([a-z0-9-]+)` \|", TEXT, re.MULTILINE)) == set()


def test_readers_and_places_are_named():
    for reader in {reader for readers in READERS.values() for reader in readers}:
        assert f"`{reader}`" in TEXT
    for place in USER_FILES:
        assert f"`~/{place}`" in TEXT


def test_a_path_is_asked_for_where_there_is_no_usual_place(home):
    for name in OWN:
        usual = re.search(rf"^\| `{name}` \|.*`~/", TEXT, re.MULTILINE)
        try:
            open_sources(SourceSpec(name), home)
        except ValueError as error:
            assert "needs a path" in str(error)
            assert not usual or name == "letta"  # of which agent is asked
