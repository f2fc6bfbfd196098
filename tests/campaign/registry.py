"""Every door, by the name that the command knows it by."""

from __future__ import annotations

import importlib
import json
import os

DOORS = {
    "memory-files": "tests.campaign.doors.memory_files:MemoryFiles",
    "notes": "tests.campaign.doors.notes:Notes",
    "folders": "tests.campaign.doors.folders:Folders",
    "qmd": "tests.campaign.doors.qmd:Qmd",
    "qmd-daemon": "tests.campaign.doors.daemon:Daemon",
    "mcp-http": "tests.campaign.doors.mcp:McpHttp",
    "mcp-stdio": "tests.campaign.doors.mcp:McpStdio",
    "kills": "tests.campaign.scenes.kills:Kills",
    "soak": "tests.campaign.scenes.soak:SoakDoor",
    "serve": "tests.campaign.doors.serve:Serve",
    "stores": "tests.campaign.doors.stores:Stores",
    "histories": "tests.campaign.doors.histories:Histories",
}
# Doors that a test of the campaign adds, for its workers too.
DOORS |= json.loads(os.environ.get("CAMPAIGN_DOORS", "{}"))


def door_class(name):
    """The class of a door."""
    module, _, attribute = DOORS[name].partition(":")
    return getattr(importlib.import_module(module), attribute)
