"""Records made of notes: ids that stay, statements that speak for themselves, and where they stand."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pi_rank.memory.sources.protocol import SourceLine

WRITTEN_CONFIDENCE = 0.9
"""Of what a person wrote down for an agent."""
NOTED_CONFIDENCE = 0.8
"""Of what an agent noted for itself, and of notes that nobody weighed."""
ID_DIGITS = 12  # hexadecimal: among 300,000 records of one kind, two share an id once in 6,000 memories
MOST_TAGS = 12


class Maker:
    """Makes the records of one file.

    :param source: begins each id: the kind of memory, as `claude-md`.
    :param place: the file as a user finds it, with `~` for the home folder: part of each id, so that the same
        file elsewhere has records of its own.
    :param defaults: fields of each record.
    """

    def __init__(self, source: str, place: str, **defaults: Any) -> None:  # noqa: ANN401
        self.source = source
        self.place = place
        self._defaults = defaults
        self._seen: Counter[str] = Counter()

    def record(
        self,
        line: int,
        text: str,
        *,
        statement: str | None = None,
        own_id: str | None = None,
        tags: Iterable[str] = (),
        under: Sequence[str] = (),
        ordered: bool = False,
        **fields: Any,  # noqa: ANN401
    ) -> SourceLine:
        """A record that says `text`, in that line.

        :param statement: what it says to who does not see its surroundings; `text` by default.
        :param own_id: the id that it has where it comes from; without one, its text and file make it.
        :param under: the headings that it stands under, outermost first.
        :param ordered: each tag has its place, and none is left out because another one says the same.
        """
        made = own_id or self._id(text)
        all_tags = list(tags) if ordered else _distinct(tags)
        evidence = {"type": self.source, "ref": f"{self.place}:{line}"}
        if under:
            evidence["note"] = " › ".join(under)
        found = {
            "id": f"{self.source}-{made}",
            "statement": " ".join((statement or text).split()),
            "evidence": [evidence],
            **({"tags": all_tags} if all_tags else {}),
            **self._defaults,
            **fields,
        }
        return SourceLine(line, {key: value for key, value in found.items() if value is not None})

    def _id(self, text: str) -> str:
        """Of the file and the text alone: it stays when lines come and go above, and headings change."""
        words = " ".join(text.split())
        self._seen[words] += 1
        said = f"{self.place}\0{words}\0{self._seen[words]}"
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:ID_DIGITS]


def _distinct(tags: Iterable[str]) -> list[str]:
    named = {tag.casefold(): tag for each in reversed([*tags]) if (tag := each.strip())}
    return list(reversed(named.values()))[:MOST_TAGS]


def shown(path: Path) -> str:
    """A path as users write it: `~` for the home folder, forward slashes."""
    home = os.path.realpath(Path.home()) if _has_home() else ""
    text = str(path)
    if home and home != os.sep and (text == home or text.startswith(home + os.sep)):
        text = "~" + text[len(home) :]
    return text.replace("\\", "/") if os.name == "nt" else text


def _has_home() -> bool:
    try:
        Path.home()
    except RuntimeError:
        return False
    return True
