"""What Claude notes for itself: Claude Code's auto memory, and folders of the API's memory tool.

Formats: https://code.claude.com/docs/en/memory (auto memory: ~/.claude/projects/PROJECT/memory, of which the
first 200 lines of MEMORY.md are in every session and other files are looked up; a note may give its name,
description and type in front matter),
https://platform.claude.com/docs/en/agents-and-tools/tool-use/memory-tool (files of any name below /memories)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from pi_rank.memory.sources.protocol import SourceLine
from pi_rank.sources.files import FileSource, Reading
from pi_rank.sources.made import Maker, shown
from pi_rank.sources.notes import of_note, sections
from pi_rank.sources.text.front_matter import read_front_matter
from pi_rank.sources.text.markdown import read_passages
from pi_rank.sources.trust import Trust
from pi_rank.sources.walk import Walker

INDEX = "MEMORY.md"
ALWAYS_READ_LINES = 200
_TEXTS = (".md", ".txt", ".xml")
_POINTER = re.compile(r"\[[^\]]*\]\((?![a-z]+:)[^)]+\.md\)")  # of the index: the note says more
_MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,200}>")


class ClaudeMemory(FileSource):
    """The auto memory of all projects, or of one: `~/.claude/projects`, or a folder named `memory` in it."""

    def __init__(self, name: str, base: Path, trust: Trust) -> None:
        super().__init__(name, base, trust)
        self._walkers: dict[Path, Walker] = {}

    def names(self) -> Iterator[str]:
        for folder in self._folders():
            walker = self._walkers.setdefault(folder, Walker(folder, lambda _, name: name.endswith(".md")))
            below = "" if folder == self.base else f"{folder.parent.name}/{folder.name}/"
            yield from (f"{below}{name}" for name in walker.names())

    def collect(self, reading: Reading) -> None:
        for path in self.candidates():
            text = reading.text(path)
            if text is not None:
                reading.add(path, self._records(path, text, reading.day(path)))

    def _folders(self) -> list[Path]:
        if self.base.name == "memory":
            return [self.base]
        below = (project / "memory" for project in self.base.iterdir())
        return sorted(folder for folder in below if folder.is_dir() and not folder.is_symlink())

    def _project(self, path: Path) -> str:
        """The project's name among Claude Code's folders: its path, `-` for all but letters and digits."""
        memory = next(parent for parent in path.parents if parent.name == "memory")
        return memory.parent.name

    def _records(self, path: Path, text: str, day: str) -> Iterator[SourceLine]:
        lines = text.splitlines()
        matter = read_front_matter(lines)
        kind = matter.text("type") or matter.text("metadata.type")
        scope = {"type": "project", "project": f"/{self._project(path)}"}
        maker = Maker(self.name, shown(path), **of_note(matter, day))
        passages = [
            passage
            for passage in read_passages(lines[matter.body_line - 1 :], matter.body_line)
            if path.name != INDEX or not _POINTER.search(passage.text)
        ]
        title = matter.text("name") or ("" if path.name == INDEX else path.stem)
        tags = [title, kind, matter.text("description")]
        for record in sections(maker, passages, title, tags=tags):
            if kind == "user":  # who the user is, wherever he works
                record.fields.update(layer="L1", scope={"type": "global"})
            else:
                record.fields.update(scope=scope)
            if path.name == INDEX and record.line <= ALWAYS_READ_LINES:
                record.fields.update(read_by=["claude-code"])
            yield record


class MemoryTool(FileSource):
    """The files that a program keeps for the memory tool: the folder that it shows Claude as `/memories`."""

    def __init__(self, name: str, base: Path, trust: Trust) -> None:
        super().__init__(name, base, trust)
        self._walker = Walker(base, lambda _, file: file.endswith(_TEXTS))

    def names(self) -> Iterable[str]:
        return self._walker.names()

    def collect(self, reading: Reading) -> None:
        for path in self.candidates():
            text = reading.text(path)
            if text is None:
                continue
            lines = (_MARKUP.sub(" ", text) if path.suffix == ".xml" else text).splitlines()
            matter = read_front_matter(lines)
            maker = Maker(self.name, shown(path), **of_note(matter, reading.day(path)))
            passages = read_passages(lines[matter.body_line - 1 :], matter.body_line)
            folders = path.parent.relative_to(self.base).parts
            reading.add(path, sections(maker, passages, path.stem.replace("_", " "), tags=folders))
