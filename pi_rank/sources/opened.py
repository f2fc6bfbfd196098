"""Makes our own sources of what a configuration or a command line says of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pi_rank.errors import ConfigError
from pi_rank.memory.sources.protocol import MemorySource, SourceSpec
from pi_rank.sources.instructions import InstructionSource, UserInstructions, is_user_folder, user_folders
from pi_rank.sources.trust import Trust


def instructions(spec: SourceSpec, folder: Path) -> Sequence[MemorySource]:
    """Instruction files of a project; without a path those of the home folder, for every project."""
    if spec.path is None:
        return [UserInstructions(spec.name, base, Trust(base)) for base in user_folders(spec.name)]
    base = _base(spec, folder)
    made = UserInstructions if is_user_folder(base) else InstructionSource
    return [made(spec.name, base, Trust(base, needed=not spec.named))]


def _base(spec: SourceSpec, folder: Path, usual: str | None = None) -> Path:
    path = spec.path or usual
    if path is None:
        raise ConfigError(f"{spec.name} needs a path, as {spec.name}=~/notes")
    try:
        return Path(os.path.realpath(folder / Path(path).expanduser()))
    except (OSError, RuntimeError, ValueError) as error:
        raise ConfigError(f"{path!r} is not a usable path ({error})") from None
