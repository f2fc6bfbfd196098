"""config.json as it is now or, while it cannot be read, as it last was: a slip never opens what was shut."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

from pi_rank.errors import RecordError
from pi_rank.files.foreign import read_foreign
from pi_rank.files.private import replace_private
from pi_rank.memory.config import CLOSED, RootConfig, parse_config
from pi_rank.memory.files import READ_ATTEMPTS, RETRY_SECONDS, Reading, read_now, signature, without_bom

MOST_BYTES = 1 << 20
_NOTHING_SAID = b"{}"


class ConfigFile:
    """The settings of one root, looked at on every turn. Threads may share it."""

    def __init__(self, path: Path, kept: Path | None = None) -> None:
        """`kept`: a file of ours that holds the last good state, for processes that begin while it is bad."""
        self._path = path
        self._name = str(path)
        self._kept = kept
        self._good: tuple[bytes, RootConfig] | None = None
        self._known: tuple[int, int, int] | None = None
        self._there = False

    def read(self) -> RootConfig:
        """What the file says; the defaults where there is none.

        While it cannot be read, or is being written, what it last said counts; where nobody knows that,
        nothing is shown (`policy_only`). `warnings` names either.
        """
        try:
            now = os.stat(self._name)  # noqa: PTH116  (half the time of Path.stat, on every turn)
        except (FileNotFoundError, NotADirectoryError):
            return self._missing()
        except (OSError, ValueError) as error:
            return self._last_good(_why(error))
        if self._good is not None and self._known == signature(now):
            return self._good[1]
        return self._read_again()

    def keep(self) -> None:
        """Note what the file says, for processes that cannot read it. A state that nobody knows is not kept.

        :raises OSError: the note cannot be written.
        """
        self.read()
        if self._kept is None or self._good is None:
            return
        data = self._good[0]
        if _bytes_of(self._kept) != data:
            replace_private(self._kept, data)

    def _missing(self) -> RootConfig:
        if self._there:
            self._there = False
            time.sleep(RETRY_SECONDS)  # some programs remove a file before they write it
            if self._path.exists():
                return self.read()
        self._good, self._known = (_NOTHING_SAID, RootConfig()), None
        return self._good[1]

    def _read_again(self) -> RootConfig:
        # Whoever knows what it last said waits for nobody; else it is worth a moment to find out.
        attempts = READ_ATTEMPTS if self._good is None else 1
        why = ""
        for attempt in range(1, attempts + 1):
            try:
                reading = read_now(self._path, MOST_BYTES)
                config = parse_config(without_bom(reading.data))
            except (OSError, RecordError) as error:
                why = _why(error)
            else:
                return self._believe(reading, config)
            if attempt < attempts:
                time.sleep(RETRY_SECONDS * attempt)
        return self._last_good(why)

    def _believe(self, reading: Reading, config: RootConfig) -> RootConfig:
        self._there = True
        if reading.stable:
            self._good = reading.data, config
            self._known = signature(reading.status) if reading.settled else None
        return config

    def _last_good(self, why: str) -> RootConfig:
        good, used = None if self._good is None else self._good[1], "what it last said is used"
        if good is None:
            good = self._kept_config()
        if good is None:
            good, used = RootConfig(injection_mode=CLOSED), f"mode {CLOSED} is used until it can be"
        return msgspec.structs.replace(good, warnings=(f"config.json cannot be read ({why}); {used}",))

    def _kept_config(self) -> RootConfig | None:
        try:
            data = b"" if self._kept is None else read_foreign(self._kept, MOST_BYTES)
            return parse_config(without_bom(data))
        except (OSError, RecordError):
            return None


def _bytes_of(path: Path) -> bytes | None:
    try:
        return read_foreign(path, MOST_BYTES)
    except OSError:
        return None


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
