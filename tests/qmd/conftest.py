"""A qmd command in a world of its own: home, configuration and cache below a test's folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from pi_rank.qmd import command

DOCUMENTS = {
    "alpha.md": "# Deploy checklist\n\nAlways run the full test suite before a deploy.\n\n## Rollback\n\n"
    "If the error rate exceeds 2 percent, roll back with `make rollback`.\n"
    "Never deploy on Friday afternoon.\n",
    "mem_20260101_deploy.md": "# mem_20260101_deploy\n\n**Status**: active\n\n"
    "Never deploy on Friday; deploy Tuesday mornings instead.\n",
    "Budget & Revenue (Q4) [2024].md": "Revenue went up 12 percent, costs stayed flat.\n"
    "No heading in this file. 🚀 rocket emoji.\n",
    "sub/beta.md": '---\ntitle: ignored frontmatter\n---\n# Python style, "quoted" & <tagged>\n\n'
    "- Prefer f-strings over percent formatting.\n- Use `ruff` with multi-agent config DEC-0054.\n"
    "- Version pinned at 2026.4.10, see notes.\n\n一些中文内容：部署 前 必须 运行 测试。\n",
    ".hidden/x.md": "# Hidden\n\nNever deploy on Friday.\n",
}
DOCUMENTS["same-as-alpha.md"] = DOCUMENTS["alpha.md"]


class Ran(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


class World:
    """Runs commands in process, with an environment of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "PI_RANK_CACHE_DIR": str(home / "stores"),
            "PI_RANK_QMD_DAEMON": "off",
        }

    def qmd(self, *argv: str, **environment: str) -> Ran:
        """Run one command."""
        out: list[str] = []
        err: list[str] = []
        code = command.run(argv, {**self.environment, **environment}, str(self.home), out.append, err.append)
        return Ran(code, "".join(out), "".join(err))

    def ok(self, *argv: str, **environment: str) -> str:
        """The result of a command that must succeed."""
        ran = self.qmd(*argv, **environment)
        assert ran.code == 0, ran
        return ran.out

    def write(self, path: str, text: str | bytes) -> Path:
        """A file below the home folder."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def documents(self) -> Path:
        """The folder of documents that the samples were made with."""
        for name, text in DOCUMENTS.items():
            self.write(f"docs/{name}", text)
        return self.home / "docs"


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A fresh world, whose variables are this process's own as well."""
    made = World(tmp_path)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("INDEX_PATH", raising=False)
    monkeypatch.delenv("QMD_CONFIG_DIR", raising=False)
    return made
