"""Which sources there are, ours and those of installed packages, and how one is opened."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from pi_rank.errors import ConfigError
from pi_rank.memory.sources.protocol import MemorySource, SourceSpec

ENTRY_POINTS = "pi_rank.sources"
SourceFactory = Callable[[SourceSpec, Path], Sequence[MemorySource]]
"""Makes the sources of a spec, whose relative path is below the folder; raises ConfigError."""

# Name → "module:function" of pi_rank.sources, and what is read.
OWN: dict[str, tuple[str, str]] = {
    "instructions": ("opened:instructions", "all of the next five"),
    "claude-md": ("opened:instructions", "CLAUDE.md, CLAUDE.local.md and .claude/rules of a project"),
    "agents-md": ("opened:instructions", "AGENTS.md and AGENTS.override.md"),
    "gemini-md": ("opened:instructions", "GEMINI.md"),
    "cursor-rules": ("opened:instructions", ".cursor/rules/*.mdc and .cursorrules"),
    "copilot": ("opened:instructions", ".github/copilot-instructions.md and .github/instructions"),
    "claude-memory": ("opened:claude_memory", "what Claude Code noted for itself (~/.claude/projects)"),
    "memory-tool": ("opened:memory_tool", "a folder of the Claude API's memory tool"),
    "mcp-memory": ("opened:mcp_memory", "memory.jsonl of the MCP memory server"),
    "basic-memory": ("opened:notes", "basic-memory's observations and relations (~/basic-memory)"),
    "obsidian": ("opened:notes", "a vault of Markdown notes"),
    "mem0": ("opened:mem0", "memories that mem0 gave out as JSON"),
    "letta": ("opened:letta", "a Letta agent's memory folder"),
    "jsonl": ("opened:pi_jsonl", "PI's own records in a file, as `pi-rank export` writes them"),
    "hermes": ("opened:hermes", "Hermes Agent's MEMORY.md and USER.md (~/.hermes/memories)"),
}


def source_names() -> dict[str, str]:
    """The sources that can be opened, by name, with what each reads; those of other packages last."""
    others = {point.name: f"by {point.value}" for point in _others() if point.name not in OWN}
    return {name: summary for name, (_, summary) in OWN.items()} | dict(sorted(others.items()))


def open_sources(spec: SourceSpec, folder: Path) -> Sequence[MemorySource]:
    """The sources that a spec means.

    :param folder: what a relative path is below.
    :raises ConfigError: there is no such source, it needs a path, or cannot be loaded.
    """
    return _factory(spec.name)(spec, folder)


def _factory(name: str) -> SourceFactory:
    if name in OWN:
        module, _, function = OWN[name][0].partition(":")
        own: SourceFactory = getattr(import_module(f"pi_rank.sources.{module}"), function)
        return own
    found = [point for point in _others() if point.name == name]
    if not found:
        raise ConfigError(f"there is no source {name!r}; there are {', '.join(source_names())}")
    try:
        loaded: SourceFactory = found[0].load()
    except Exception as error:  # of whoever wrote it
        raise ConfigError(f"the source {name!r} ({found[0].value}) cannot be loaded: {error}") from error
    return loaded


def _others() -> list:  # type: ignore[type-arg]
    from importlib.metadata import entry_points  # costs more than all else of a turn, and few have any

    return list(entry_points(group=ENTRY_POINTS))


def usual_places(spec: SourceSpec, folder: str | Path) -> list[SourceSpec]:
    """A source without a path, as who works in this folder means it: its project's rules count too."""
    if spec.path is not None or OWN.get(spec.name, ("",))[0] != "opened:instructions":
        return [spec]
    from pi_rank.memory.settings import project_top

    top = project_top(Path(os.path.realpath(folder)))
    return [spec, SourceSpec(spec.name, str(top))]


def parse_spec(text: str, folder: str | Path) -> SourceSpec:
    """`NAME` or `NAME=PATH` of a command line, relative to the folder that it was given in.

    :raises ConfigError: there is no name, or no path behind the sign.
    """
    name, sign, path = text.partition("=")
    if not name or (sign and not path):
        raise ConfigError(f"{text!r} is no source: write NAME or NAME=PATH, as agents-md=~/work/orchard")
    if not sign:
        return SourceSpec(name, named=True)
    return SourceSpec(name, os.path.join(folder, os.path.expanduser(path)), named=True)  # noqa: PTH111, PTH118
