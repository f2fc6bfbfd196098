"""Whether the notes and rules of a folder may speak: a repository's do so once its user said they may."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pi_rank.errors import UntrustedWarning
from pi_rank.files.foreign import why_not_own
from pi_rank.memory.trusted import is_trusting, trusted_folders


class Verdict(NamedTuple):
    """What may be read now. `digests`: SHA-256 of each trusted file, by its path; None trusts all of them.

    `state` differs between verdicts that differ.
    """

    folder: Path
    digests: Mapping[str, str] | None
    state: str

    @property
    def some(self) -> bool:
        """Whether anything may be read at all."""
        return self.digests is None or bool(self.digests)

    def admits(self, path: Path, digest: bytes) -> bool:
        """Whether a file may be used as it is; one that may not is named in an UntrustedWarning.

        :param digest: SHA-256 of its bytes.
        """
        if self.digests is None or self.digests.get(str(path)) == digest.hex():
            return True
        why = "has changed since it was trusted" if str(path) in self.digests else "is not trusted yet"
        _warn(f"{path} {why}", str(self.folder))
        return False


class Trust:
    """Asked at each sync, since trust may come and go while a program runs."""

    def __init__(self, folder: Path, *, needed: bool = True, notes: bool = False) -> None:
        """:param needed: False for what is the user's own, or what he named himself, as he would a root.
        :param notes: the folder changes all the time, so that only trust in whatever it says is of use.
        """
        self._folder = folder
        self._how = "--follow " if notes else ""
        self._needed = needed

    def now(self) -> Verdict:
        """What the list of trusted folders says now; an UntrustedWarning where that is nothing.

        :raises ConfigError: the list is there and cannot be read.
        """
        if not self._needed or is_trusting():
            return Verdict(self._folder, None, "all")
        folders = trusted_folders()
        for folder in (self._folder, *self._folder.parents):
            entry = folders.get(str(folder))
            if entry is None or entry.sources == {}:
                continue
            if entry.sources is None:
                return Verdict(self._folder, None, "all")
            digests = {str(folder / name): digest for name, digest in entry.sources.items()}
            return Verdict(self._folder, digests, repr(sorted(digests.items())))
        _warn(f"memory of {self._folder} is not trusted yet", f"{self._how}{self._folder}")
        return Verdict(self._folder, {}, "none")


def is_own_place(folder: Path) -> bool:
    """Whether a folder is where the user's programs keep what is theirs: below a hidden folder of his home.

    It is not where others may write into it.
    """
    try:
        home = Path.home().resolve()
        below = folder.relative_to(home).parts
        hidden = home / below[0] if below and below[0].startswith(".") else None
        return hidden is not None and not why_not_own(hidden.stat()) and not why_not_own(folder.stat())
    except (OSError, RuntimeError, ValueError):
        return False


def _warn(what: str, arguments: str) -> None:
    follow = "" if arguments.startswith("--follow") else ", --follow whatever it will say"
    warnings.warn(
        f"{what} and left out; after a look at it, `pi-rank trust {arguments}` has it used{follow}, and "
        "--trust for one run",
        UntrustedWarning,
        stacklevel=1,  # one place, so that one run says it once
    )
