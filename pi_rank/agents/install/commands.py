"""The commands that are written into configurations: this installation's own, whatever PATH says."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from pathlib import Path

import pi_rank

MCP_NAME = "pi-rank"


def own_words() -> list[str]:
    """This installation's program: its Python without `site`, whose start costs as much as a warm answer."""
    return [sys.executable, "-I", "-S", str(Path(pi_rank.__file__).resolve().parent / "launch.py")]


def hook_line(agent: str, options: list[str]) -> str:
    """The shell's line for an agent's hook: nothing on stderr and exit code 0.

    Even where the program has gone.
    """
    words = [*own_words(), "hook", agent, *options]
    if os.name == "nt":
        return " ".join(f'"{word}"' for word in words)
    return f"{shlex.join(words)} 2>/dev/null || true"


def is_hook_line(line: object, agent: str) -> bool:
    """Whether a command is ours, of this installation or another."""
    if not isinstance(line, str) or not ("pi-rank" in line or "pi_rank" in line):
        return False
    return f"hook {agent}" in line.replace('"', "").replace("'", "")


def mcp_words() -> list[str]:
    """The program of the MCP server."""
    return [*own_words(), "mcp"]  # never `-m`: that looks for modules in the folder the agent is started in


def has_mcp() -> bool:
    """Whether the server's packages are installed."""
    return importlib.util.find_spec("mcp") is not None
