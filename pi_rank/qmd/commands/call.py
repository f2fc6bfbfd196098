"""One call of the command: what was asked, from where, and where the answer goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pi_rank.qmd.arguments import Arguments
from pi_rank.qmd.paths import Places
from pi_rank.qmd.search.library import Library, opened_library

if TYPE_CHECKING:
    from pi_rank.qmd.warm.warm import Warm


class Call(NamedTuple):
    """`out` takes the result, and nothing else; `err` takes everything for the person who asked."""

    arguments: Arguments
    places: Places
    environment: Mapping[str, str]
    directory: str
    out: Callable[[str], None]
    err: Callable[[str], None]
    warm: Warm | None = None

    @property
    def words(self) -> list[str]:
        """What follows the command's name."""
        return self.arguments.words[1:]

    def has(self, switch: str) -> bool:
        """Whether a flag without a value was given."""
        return switch in self.arguments.switches

    def line(self, text: str = "") -> None:
        """One line of the result."""
        self.out(f"{text}\n")

    def note(self, text: str) -> None:
        """One line on stderr."""
        self.err(f"{text}\n")

    def absolute(self, path: str) -> Path:
        """A path as the caller means it: from where the call was made."""
        try:
            given = Path(path).expanduser()
        except RuntimeError:  # "~nobody", where there is no such user: a name like any other
            given = Path(path)
        return Path(self.directory, given)

    @contextmanager
    def library(self) -> Iterator[Library]:
        """Everything that the call reads, in one version."""
        with opened_library(self.places, self.warm) as library:
            yield library
