"""The samples of other programs' memory, laid out as those programs do, and what is read from them.

`python -m tests.sources.sampled --write` writes the golden files anew; look at the difference before you
keep it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from pathlib import Path
from unittest import mock

from pi_rank.memory.sources.protocol import SourceSpec
from pi_rank.sources.registry import open_sources

HERE = Path(__file__).resolve().parent
SAMPLES, GOLDEN = HERE / "samples", HERE / "golden"
WRITTEN = 1_780_000_000  # 2026-05-28, when each file of a sample was last written

# Golden file → the source, the sample, where that lies below the home folder, and the file, if it is one.
CASES = {
    "instructions": ("instructions", "instructions", "work/orchard"),
    "claude-memory": ("claude-memory", "claude-memory", ".claude/projects"),
    "memory-tool": ("memory-tool", "memory-tool", "app/memories"),
    "mcp-memory": ("mcp-memory", "mcp-memory", ".mcp", "memory.jsonl"),
    "basic-memory": ("basic-memory", "basic-memory", "basic-memory"),
    "obsidian": ("obsidian", "obsidian", "vault"),
    "mem0": ("mem0", "mem0", "exports", "export.json"),
    "letta": ("letta", "letta", ".letta/agents/agent-1/memory"),
    "hermes": ("hermes", "hermes", ".hermes/memories"),
}


def lay_out(sample, target):
    """Copy a sample. Names begin with `_` and `dot.` there, so that nobody takes them for rules of ours."""
    for path in sorted((SAMPLES / sample).rglob("*")):
        if path.is_file():
            parts = (_named(part) for part in path.relative_to(SAMPLES / sample).parts)
            copy = target.joinpath(*parts)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            os.utime(copy, (WRITTEN, WRITTEN))
    return target


def _named(part):
    return f".{part[4:]}" if part.startswith("dot.") else part.removeprefix("_")


def read_case(name, home):
    """What the source of a case reads, as one line a record, with the sample below `home`."""
    source, sample, place, *file = CASES[name]
    lay_out(sample, home / place)
    spec = SourceSpec(source, str(Path(home, place, *file)), named=True)
    readings = [each.records({}) for each in open_sources(spec, home)]
    return [line for reading in readings for line in lines_of(reading, home)]


def lines_of(reading, home):
    """Each record, and each line that is none, as JSON with the home folder written as ~."""
    assert not reading.warnings
    for file in reading.files:
        rows = [{"line": line, **fields} for line, fields in file.lines]
        rows += [{"line": line, "skipped": reason} for line, reason in file.skipped]
        for row in rows:
            text = json.dumps({"file": file.name, **row}, ensure_ascii=False)
            yield text.replace(json.dumps(str(home.resolve()))[1:-1], "~")


def golden_file(name):
    return GOLDEN / f"{name}.jsonl"


def write():
    GOLDEN.mkdir(exist_ok=True)
    for name in CASES:
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"HOME": folder}):
            lines = read_case(name, Path(folder))
        golden_file(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", required=True)
    parser.parse_args()
    write()
