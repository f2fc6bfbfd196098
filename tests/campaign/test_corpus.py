"""Every case that once showed a fault, or is worth keeping, tried again: none may show one."""

from __future__ import annotations

import pytest

from tests.campaign.corpus import kept_cases
from tests.campaign.door import try_case
from tests.campaign.registry import DOORS, door_class

CASES = list(kept_cases())


@pytest.fixture(scope="module")
def doors(tmp_path_factory):
    opened = {}

    def opened_door(name):
        kind = door_class(name)
        if reason := kind.missing():
            pytest.skip(reason)
        if name not in opened:
            opened[name] = kind(tmp_path_factory.mktemp(name))
        return opened[name]

    yield opened_door
    for door in opened.values():
        door.close()


@pytest.mark.parametrize("kept", CASES, ids=[f"{kept.door}/{kept.path.stem}" for kept in CASES])
@pytest.mark.filterwarnings("ignore::pi_rank.errors.UntrustedWarning")
def test_a_kept_case_shows_no_fault(doors, kept):
    assert kept.door in DOORS
    assert try_case(doors(kept.door), kept.case).problems == []
