"""What users can see of the package: public names, and the help of every command, as one text.

    python -m tests.surface > before.txt    # then after a change, and compare the two

Run it outside the repository, with the repository on PYTHONPATH, to look at another checkout.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

# Modules whose names a user imports.
PUBLIC = ("pi_rank", "pi_rank.injection", "pi_rank.recall")
QMD = ("search", "vsearch", "query", "get", "multi-get", "ls", "status", "collection", "context", "mcp")


def public_names(module):
    """The names that `module` offers, each once."""
    return sorted(importlib.import_module(module).__all__)


def help_of(*words):
    """What `pi-rank WORDS --help` prints, 100 columns wide."""
    command = [sys.executable, "-m", "pi_rank.cli", *words, "--help"]
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def parts():
    """Each part of the surface under its heading."""
    from pi_rank.cli.program import COMMANDS

    for module in PUBLIC:
        yield module, "\n".join(public_names(module)) + "\n"
    yield "pi-rank", help_of()
    for name in COMMANDS:
        yield f"pi-rank {name}", help_of(name)
    for name in QMD:
        yield f"pi-rank qmd {name}", help_of("qmd", name)


if __name__ == "__main__":
    for heading, text in parts():
        print(f"== {heading}\n{text}")
