"""CLAUDE.md, AGENTS.md, GEMINI.md, Cursor's and Copilot's rules: what people wrote down for their agents.

Each list item, paragraph or short block of code is a record, scoped to the folder that the file is for. The
agents that read a file themselves are noted in `read_by`.
Formats: https://code.claude.com/docs/en/memory (CLAUDE.md, CLAUDE.local.md, .claude/rules), https://agents.md,
https://developers.openai.com/codex/guides/agents-md (AGENTS.override.md), https://opencode.ai/docs/rules,
https://geminicli.com/docs/cli/gemini-md, https://cursor.com/docs/context/rules,
https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-custom-instructions
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from pi_rank.memory.settings import project_top
from pi_rank.memory.sources.protocol import SourceLine
from pi_rank.sources.files import FileSource, Reading
from pi_rank.sources.made import WRITTEN_CONFIDENCE, Maker, shown
from pi_rank.sources.text.front_matter import FrontMatter, read_front_matter
from pi_rank.sources.text.imports import MOST_HOPS, Import, read_imports, without_imports
from pi_rank.sources.text.markdown import read_passages, statement_of, tags_of
from pi_rank.sources.trust import Trust, is_own_place
from pi_rank.sources.walk import Walker

# Family → the agents that put such a file of a project before their model themselves.
READERS: Mapping[str, tuple[str, ...]] = {
    "claude-md": ("claude-code",),
    "agents-md": ("codex", "copilot", "cursor", "opencode", "pi"),
    "gemini-md": ("gemini-cli",),
    "cursor-rules": ("cursor",),
    "copilot": ("copilot",),
}
_BOILERPLATE = "This file provides guidance to "  # how Claude Code begins the file that it makes
_IMPORTING = ("claude-md", "gemini-md")
_HIDDEN = frozenset((".claude", ".cursor", ".github"))
_NAMES = {
    "CLAUDE.md": "claude-md",
    "CLAUDE.local.md": "claude-md",
    "AGENTS.md": "agents-md",
    "AGENTS.override.md": "agents-md",
    "GEMINI.md": "gemini-md",
    ".cursorrules": "cursor-rules",
}
# Folder of the home folder → its files, and who reads them.
USER_FILES: Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    ".claude": ("claude-md", ("CLAUDE.md", "rules/*.md"), ("claude-code",)),
    ".codex": ("agents-md", ("AGENTS.md", "AGENTS.override.md"), ("codex",)),
    ".config/opencode": ("agents-md", ("AGENTS.md",), ("opencode",)),
    ".pi/agent": ("agents-md", ("AGENTS.md",), ("pi",)),
    ".gemini": ("gemini-md", ("GEMINI.md",), ("gemini-cli",)),
    ".copilot": ("copilot", ("copilot-instructions.md",), ("copilot",)),
}


class _Kind(NamedTuple):
    """What a file is: its family, and the folder that it is for, below the project."""

    family: str
    folder: str


class _Document:
    """A file that was read, with what it takes in and who has it before him."""

    def __init__(self, path: Path, kind: _Kind, readers: set[str], text: str) -> None:
        self.path = path
        self.kind = kind
        self.readers = readers
        self.lines = text.splitlines()
        self.imports: list[Import] = []


def kind_of(folder: str, name: str) -> _Kind | None:
    """What a file of this name in this folder (with slashes, "" for the project's top) is for agents."""
    parts = folder.split("/") if folder else []
    for hidden, below, suffix, family in (
        (".claude", "rules", ".md", "claude-md"),
        (".cursor", "rules", ".mdc", "cursor-rules"),
        (".github", "instructions", ".instructions.md", "copilot"),
    ):
        if hidden in parts:
            at = parts.index(hidden)
            rest, top = parts[at + 1 :], "/".join(parts[:at])
            if rest[:1] == [below] and name.endswith(suffix):
                return _Kind(family, top)
            if not rest and (hidden, name) in (
                (".claude", "CLAUDE.md"),
                (".github", "copilot-instructions.md"),
            ):
                return _Kind(family, top)
            return None
    return _Kind(_NAMES[name], folder) if name in _NAMES else None


class InstructionSource(FileSource):
    """The instruction files of one project, nested ones too, with what they import from inside of it."""

    def __init__(self, name: str, base: Path, trust: Trust) -> None:
        super().__init__(name, base, trust)
        self._families = READERS.keys() if name == "instructions" else {name}
        self._walker = Walker(base, self._is_wanted, _HIDDEN)

    def names(self) -> Iterable[str]:
        return self._walker.names()

    def collect(self, reading: Reading) -> None:
        documents: dict[Path, _Document] = {}
        for path in self.candidates():
            kind = self._kind(path)
            real = self._real(path)
            if not real.is_relative_to(self.base):
                reading.refuse(path, f"leads out of {shown(self.base)}; it is not followed")
            elif (document := documents.get(real) or self._read(reading, real, kind)) is not None:
                documents[real] = document
                document.readers |= self._readers(path, kind)
                reading.alias(path, real)
        self._follow(reading, documents)
        for document in documents.values():
            reading.add(document.path, *self._records(document, reading.day(document.path)))
        if self._walker.cut:
            reading.note(f"only the first folders of {shown(self.base)} were looked through for rules")

    def _is_wanted(self, folder: str, name: str) -> bool:
        kind = kind_of(folder, name)
        return kind is not None and kind.family in self._families

    def _kind(self, path: Path) -> _Kind:
        folder = path.parent.relative_to(self.base).as_posix()
        kind = kind_of("" if folder == "." else folder, path.name)
        assert kind is not None  # it was wanted
        return kind

    def _real(self, path: Path) -> Path:
        return Path(os.path.realpath(path))

    def _readers(self, path: Path, kind: _Kind) -> set[str]:
        readers = set(READERS[kind.family])
        if path.name == "CLAUDE.md":  # which some read where there is no AGENTS.md
            above = [path.parent, *(each for each in path.parent.parents if each.is_relative_to(self.base))]
            others = [(each / "AGENTS.md").exists() for each in above]
            readers.update([*(["pi"] if not others[0] else []), *(["opencode"] if not any(others) else [])])
        return readers

    def _read(self, reading: Reading, path: Path, kind: _Kind) -> _Document | None:
        text = reading.text(path)
        if text is None:
            return None
        document = _Document(path, kind, set(), text)
        if kind.family in _IMPORTING:
            document.imports = list(read_imports(document.lines, path, self.base))
        return document

    def _follow(self, reading: Reading, documents: dict[Path, _Document]) -> None:
        """Read what is imported, hop by hop; each file once, so that a circle ends."""
        for importing in list(documents.values()):
            level, seen = [importing], {importing.path}
            for _ in range(MOST_HOPS):
                targets = {each.path for document in level for each in document.imports if each.path} - seen
                seen |= targets
                level = []
                for path in sorted(targets):
                    kind = _Kind(importing.kind.family, importing.kind.folder)
                    if path not in documents:
                        document = self._read(reading, path, kind)
                        if document is None:
                            continue
                        documents[path] = document
                    documents[path].readers |= importing.readers
                    level.append(documents[path])

    def _scope(self, kind: _Kind, matter: FrontMatter) -> dict[str, str] | None:
        return {"type": "project", "project": str(self.base / kind.folder / _below(_globs(matter)))}

    def _records(self, document: _Document, day: str) -> tuple[list[SourceLine], list[tuple[int, str]]]:
        matter = read_front_matter(document.lines)
        place = shown(document.path)
        globs = _globs(matter)
        maker = Maker(
            document.kind.family,
            place,
            confidence=WRITTEN_CONFIDENCE,
            memory_kind="instruction",
            updated_at=day,
            scope=self._scope(document.kind, matter),
            read_by=sorted(document.readers),
            applies_when=_phrases(globs) or None,
        )
        described = [matter.text("description")] if matter.text("description") else []
        body = without_imports(document.lines)[matter.body_line - 1 :]
        records = [
            maker.record(
                passage.line,
                passage.text,
                statement=statement_of(passage),
                tags=[*tags_of(passage), *described, *_endings(globs)],
                under=passage.path,
            )
            for passage in read_passages(body, matter.body_line)
            if not passage.text.startswith(_BOILERPLATE)
        ]
        outside = [
            (each.line, f"imports {each.target}, which is outside of {shown(self.base)}: not followed")
            for each in document.imports
            if each.path is None
        ]
        return records, outside


def trustable(folder: Path) -> tuple[Path, dict[str, str]]:
    """The project that a folder is in, and SHA-256 of each of its instruction files by its path there."""
    top = project_top(folder)
    try:
        return top, InstructionSource("instructions", top, Trust(top, needed=False)).digests()
    except OSError:
        return top, {}


class UserInstructions(InstructionSource):
    """The instruction files of a folder of the home folder, which are for every project."""

    def __init__(self, name: str, base: Path, trust: Trust) -> None:
        super().__init__(name, base, trust)
        home = Path.home().resolve()
        place = base.relative_to(home).as_posix() if base.is_relative_to(home) else ""
        self._family, self._patterns, self._own_readers = USER_FILES[place]

    def names(self) -> Iterator[str]:
        for pattern in self._patterns:
            found = sorted(path for path in self.base.glob(pattern) if path.is_file())
            yield from (path.relative_to(self.base).as_posix() for path in found)

    def _kind(self, path: Path) -> _Kind:
        return _Kind(self._family, "")

    def _real(self, path: Path) -> Path:
        return path  # people keep these files with their other settings, and link them here

    def _readers(self, path: Path, kind: _Kind) -> set[str]:
        readers = set(self._own_readers)
        other = Path.home() / ".config/opencode/AGENTS.md"
        if path.name == "CLAUDE.md" and not other.exists():  # opencode's own comes first
            readers.add("opencode")
        return readers

    def _scope(self, kind: _Kind, matter: FrontMatter) -> None:
        return None


def user_folders(name: str) -> list[Path]:
    """The folders of the home folder that have instruction files of a family, or of any."""
    home = Path.home().resolve()
    return [home / place for place, (family, _, _) in USER_FILES.items() if name in ("instructions", family)]


def is_user_folder(folder: Path) -> bool:
    """Whether instruction files in that folder are for every project of the user."""
    return is_own_place(folder) and folder in user_folders("instructions")


def _globs(matter: FrontMatter) -> list[str]:
    return [*matter.words("globs"), *matter.words("applyTo"), *matter.words("paths")]


def _below(globs: list[str]) -> str:
    """The folder that all patterns lie in: the parts before the first that has a wildcard."""
    folders = []
    for glob in globs:
        parts = glob.strip("/").split("/")[:-1]
        folders.append(list(takewhile(lambda part: part != ".." and not set(part) & set("*?[{"), parts)))
    same = takewhile(lambda level: len(set(level)) == 1, zip(*folders, strict=False))
    return "/".join(level[0] for level in same)


def _phrases(globs: list[str]) -> list[str]:
    """What is in a file's path where a pattern meets it, as far as words can say: `web/src`, else `sql`."""
    found = [_below([glob]) or " ".join(_endings([glob])[:1]) for glob in globs]
    return list(dict.fromkeys(filter(None, found)))


def _endings(globs: list[str]) -> list[str]:
    """The kinds of files that patterns are for, as words: `ts` of `src/**/*.ts`."""
    endings = (glob.rpartition(".")[2] for glob in globs if "." in glob)
    return [word for ending in endings for word in ending.strip("{}").split(",") if word.isalnum()]
