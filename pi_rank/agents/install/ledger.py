"""What was installed where, and each file as it was before, for an exact way back."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from pi_rank.errors import ConfigError
from pi_rank.files.foreign import read_foreign
from pi_rank.files.private import replace_private

MAX_BYTES = 1 << 20


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One file that was changed: digests of its text before and after, and the one stretch in which they
    differ.

    `before` None: the file was not there. `folders` were made for it, innermost first.
    """

    agent: str
    path: str
    before: str | None
    after: str
    backup: str | None = None
    old: str = ""
    new: str = ""
    folders: tuple[str, ...] = ()


def digest(text: str) -> str:
    """SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


class Ledger:
    """The list of entries, read once and replaced as a whole."""

    def __init__(self, folder: Path | None = None) -> None:
        if folder is None:
            import platformdirs

            folder = Path(platformdirs.user_data_dir("pi-rank"))
        self._folder = folder
        self._file = folder / "installed.json"
        self._entries = self._read()

    def of(self, agent: str, path: Path) -> Entry | None:
        """What is known of an agent's file."""
        return self._entries.get(_key(agent, path))

    def text_before(self, entry: Entry) -> str | None:
        """The file as it was before it was changed first; None where that is not known any more."""
        try:
            text = Path(entry.backup or "").read_bytes().decode("utf-8")
        except (OSError, ValueError):
            return None
        return text if digest(text) == entry.before else None

    def keep_text(self, path: Path, text: str) -> str:
        """Keep a copy of a file's text; where it is."""
        name = f"{digest(str(path))[:12]}-{digest(text)[:12]}-{path.name}"
        copy = self._folder / "backups" / name
        try:
            copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_private(copy, text.encode("utf-8"))
        except OSError as error:
            raise ConfigError(f"no copy of {path} can be kept ({error}); nothing was changed") from None
        return str(copy)

    def put(self, entry: Entry) -> None:
        """Remember an entry."""
        self._entries[_key(entry.agent, Path(entry.path))] = entry
        self._write()

    def drop(self, entry: Entry) -> None:
        """Forget an entry; its backup stays."""
        self._entries.pop(_key(entry.agent, Path(entry.path)), None)
        self._write()

    def _read(self) -> dict[str, Entry]:
        try:
            return msgspec.json.decode(read_foreign(self._file, MAX_BYTES), type=dict[str, Entry])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError) as error:
            raise ConfigError(
                f"{self._file} cannot be read ({error}); move it away to go on without it"
            ) from None

    def _write(self) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_private(self._file, msgspec.json.format(msgspec.json.encode(self._entries)))
        except OSError as error:
            raise ConfigError(f"{self._file} cannot be written: {error}") from None


def _key(agent: str, path: Path) -> str:
    return f"{agent} {path}"
