"""Every door, by the name that the command knows it by."""

from __future__ import annotations

import importlib
import json
import os

DOORS = {
    "memory-files": "tests.campaign.doors.memory_files:MemoryFiles",
    "notes": "tests.campaign.doors.notes:Notes",
    "core": "tests.campaign.doors.core:Core",
    "folders": "tests.campaign.doors.folders:Folders",
    "qmd": "tests.campaign.doors.qmd:Qmd",
    "qmd-daemon": "tests.campaign.doors.daemon:Daemon",
    "mcp-http": "tests.campaign.doors.mcp:McpHttp",
    "mcp-stdio": "tests.campaign.doors.mcp:McpStdio",
    "crowd": "tests.campaign.scenes.crowd:Crowd",
    "full-disk": "tests.campaign.scenes.full_disk:FullDisk",
    "note-kills": "tests.campaign.scenes.note_kills:NoteKills",
    "processes": "tests.campaign.scenes.processes:Processes",
    "qmd-kills": "tests.campaign.scenes.qmd_kills:QmdKills",
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
