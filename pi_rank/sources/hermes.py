"""Hermes Agent's two files: what it noted, and who its user is; entries stand between lines with a `§`.

Format: https://hermes-agent.nousresearch.com/docs/user-guide/features/memory (~/.hermes/memories; both files
are in its every session)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pi_rank.sources.files import FileSource, Reading
from pi_rank.sources.made import NOTED_CONFIDENCE, Maker, shown

NOTED, USER = "MEMORY.md", "USER.md"
SEPARATOR = "§"


class HermesMemory(FileSource):
    """The folder with both files."""

    def names(self) -> Iterable[str]:
        found = {path.name for path in self.base.iterdir()}
        return [name for name in (NOTED, USER) if name in found]

    def collect(self, reading: Reading) -> None:
        for path in self.candidates():
            text = reading.text(path)
            if text is not None:
                maker = Maker(
                    self.name,
                    shown(path),
                    confidence=NOTED_CONFIDENCE,
                    layer="L1" if path.name == USER else None,
                    read_by=["hermes"],
                )
                reading.add(path, (maker.record(line, entry) for line, entry in _entries(text)))


def _entries(text: str) -> Iterator[tuple[int, str]]:
    """Each entry with the line that it begins in."""
    entry: list[str] = []
    first = 1
    for number, line in enumerate([*text.splitlines(), SEPARATOR], 1):
        if line.strip() == SEPARATOR:
            if words := " ".join(" ".join(entry).split()):
                yield first, words
            entry, first = [], number + 1
        elif line.strip() or entry:
            entry.append(line)
        else:
            first = number + 1
