"""A Letta agent's MemFS: Markdown files, of which those below `system/` are in its every request.

Format: https://docs.letta.com/concepts/memfs; a local agent's is ~/.letta/agents/AGENT/memory. What the agent
is told of itself (`system/persona.md`) and its skills are no memory of anybody else's, and are not read.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pi_rank.sources.files import FileSource, Reading
from pi_rank.sources.made import Maker, shown
from pi_rank.sources.notes import of_note, sections
from pi_rank.sources.text.front_matter import read_front_matter
from pi_rank.sources.text.markdown import read_passages
from pi_rank.sources.trust import Trust
from pi_rank.sources.walk import Walker

_ALWAYS, _PERSONA, _HUMAN, _SKILLS = "system", "persona.md", "human.md", "skills"


class LettaMemory(FileSource):
    """One agent's memory folder."""

    def __init__(self, name: str, base: Path, trust: Trust) -> None:
        super().__init__(name, base, trust)
        self._walker = Walker(base, _is_memory)

    def names(self) -> Iterable[str]:
        return self._walker.names()

    def collect(self, reading: Reading) -> None:
        for path in self.candidates():
            text = reading.text(path)
            if text is None:
                continue
            lines = text.splitlines()
            matter = read_front_matter(lines)
            maker = Maker(self.name, shown(path), **of_note(matter, reading.day(path)))
            folders = path.relative_to(self.base).parts[:-1]
            always = folders[:1] == (_ALWAYS,)
            records = sections(
                maker,
                read_passages(lines[matter.body_line - 1 :], matter.body_line),
                path.stem.replace("-", " ").replace("_", " "),
                tags=[*folders[always:], matter.text("description")],
                layer="L1" if always and path.name == _HUMAN else None,
                read_by=["letta"] if always else None,
            )
            reading.add(path, records)


def _is_memory(folder: str, file: str) -> bool:
    parts = folder.split("/")
    return file.endswith(".md") and parts[0] != _SKILLS and (parts[0] != _ALWAYS or file != _PERSONA)
