"""Makes our own sources of what a configuration or a command line says of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pi_rank.errors import ConfigError
from pi_rank.memory.sources.protocol import MemorySource, SourceSpec
from pi_rank.sources.files import FileSource
from pi_rank.sources.instructions import InstructionSource, UserInstructions, is_user_folder, user_folders
from pi_rank.sources.trust import Trust, is_own_place


def instructions(spec: SourceSpec, folder: Path) -> Sequence[MemorySource]:
    """Instruction files of a project; without a path those of the home folder, for every project."""
    if spec.path is None:
        bases = user_folders(spec.name)
        return [UserInstructions(spec.name, base, _trust(spec, base, folder)) for base in bases]
    base = _base(spec, folder)
    made = UserInstructions if is_user_folder(base) else InstructionSource
    return [made(spec.name, base, _trust(spec, base, folder))]


def claude_memory(spec: SourceSpec, folder: Path) -> Sequence[MemorySource]:
    """Claude Code's auto memory of all projects, or of the folder named."""
    from pi_rank.sources.claude_memory import ClaudeMemory

    return [_made(ClaudeMemory, spec, _base(spec, folder, "~/.claude/projects"), folder)]


def memory_tool(spec: SourceSpec, folder: Path) -> Sequence[MemorySource]:
    """A folder of the API's memory tool."""
    from pi_rank.sources.claude_memory import MemoryTool

    return [_made(MemoryTool, spec, _base(spec, folder), folder)]


def mcp_memory(spec: SourceSpec, folder: Path) -> Sequence[MemorySource]:
    """A file of the MCP memory server."""
    from pi_rank.sources.mcp_memory import McpMemory

    return [_made(McpMemory, spec, _base(spec, folder), folder)]


def notes(spec: SourceSpec, folder: Path) -> Sequence[MemorySource]:
    """basic-memory's notes, or an Obsidian vault."""
    from pi_rank.sources.notes import NoteSource

    usual, prose = ("~/basic-memory", False) if spec.name == "basic-memory" else (None, True)
    base = _base(spec, folder, usual)
    return [NoteSource(spec.name, base, _trust(spec, base, folder, notes=True), prose=prose)]


def mem0(spec: SourceSpec, folder: Path) -> Sequence[MemorySource]:
    """A file that mem0 gave out."""
    from pi_rank.sources.mem0 import Mem0

    return [_made(Mem0, spec, _base(spec, folder), folder)]


def letta(spec: SourceSpec, folder: Path) -> Sequence[MemorySource]:
    """A Letta agent's memory folder."""
    from pi_rank.sources.letta import LettaMemory

    return [_made(LettaMemory, spec, _base(spec, folder), folder)]


def pi_jsonl(spec: SourceSpec, folder: Path) -> Sequence[MemorySource]:
    """A file of PI's records."""
    from pi_rank.sources.pi_jsonl import PiJsonl

    return [_made(PiJsonl, spec, _base(spec, folder), folder)]


def hermes(spec: SourceSpec, folder: Path) -> Sequence[MemorySource]:
    """Hermes Agent's memory folder."""
    from pi_rank.sources.hermes import HermesMemory

    return [_made(HermesMemory, spec, _base(spec, folder, "~/.hermes/memories"), folder)]


def _made(kind: type[FileSource], spec: SourceSpec, base: Path, folder: Path) -> FileSource:
    top = base.parent if kind.of_one_file else base
    return kind(spec.name, base, _trust(spec, top, folder, notes=True))


def _trust(spec: SourceSpec, top: Path, folder: Path, *, notes: bool = False) -> Trust:
    """The trust in a source: its user's word where he named it, or where it and who names it are his own."""
    own = is_own_place(top) and is_own_place(Path(os.path.realpath(folder)))
    return Trust(top, needed=not (spec.named or own), notes=notes)


def _base(spec: SourceSpec, folder: Path, usual: str | None = None) -> Path:
    path = spec.path or usual
    if path is None:
        raise ConfigError(f"{spec.name} needs a path, as {spec.name}=~/notes")
    try:
        return Path(os.path.realpath(folder / Path(path).expanduser()))
    except (OSError, RuntimeError, ValueError) as error:
        raise ConfigError(f"{path!r} is not a usable path ({error})") from None
