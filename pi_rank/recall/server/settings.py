"""What `pi-rank serve` is started with: options, then PI_RANK_… of the environment, then REMANENTIA_…."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pi_rank.errors import ConfigError
from pi_rank.serving.settings import ServerSettings, variable

DEFAULT_PORT = 8001
DEFAULT_AUDIT_BYTES, DEFAULT_AUDIT_BACKUPS = 10_485_760, 5


@dataclass(frozen=True)
class Settings(ServerSettings):
    """Those of every server, and where it is written down who asked.

    :raises ConfigError: they do not fit together, or one is out of range.
    """

    port: int = DEFAULT_PORT
    audit_log: Path | None = None
    audit_max_bytes: int = DEFAULT_AUDIT_BYTES
    audit_backups: int = DEFAULT_AUDIT_BACKUPS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.audit_max_bytes < 1_024 or self.audit_backups < 0:
            raise ConfigError("the audit log needs at least 1024 bytes, and no fewer than 0 backups")


def number_variable(name: str, default: int, environment: Mapping[str, str] = os.environ) -> int:
    """A whole number of the environment.

    :raises ConfigError: it is none.
    """
    value = variable(name, environment)
    if value is None:
        return default
    if not (value.isascii() and value.isdigit()):
        raise ConfigError(f"PI_RANK_API_{name} must be a whole number, got {value!r:.40}")
    return int(value)


def audit_path(default: Path, environment: Mapping[str, str] = os.environ) -> Path | None:
    """Where the audit log goes: PI_RANK_API_AUDIT_LOG, `off` for nowhere, else the default."""
    value = variable("AUDIT_LOG", environment)
    if value is None:
        return default
    return None if value.lower() == "off" else Path(value).expanduser()
