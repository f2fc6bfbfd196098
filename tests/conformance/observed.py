"""Cases observed in PI itself, read from the folder that the variable PI_RANK_SHARED names."""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path

import pytest


@functools.cache
def _all():
    root = os.environ.get("PI_RANK_SHARED")
    if not root:
        pytest.skip(
            "set PI_RANK_SHARED to the folder that holds cases/pi-observed.json", allow_module_level=True
        )
    return json.loads((Path(root) / "cases" / "pi-observed.json").read_text(encoding="utf-8"))


def observed(group):
    """The cases of one group."""
    return _all()[group]
