"""The folders whose settings and memory the user has said to use, as they were when he said so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from pi_rank.errors import ConfigError
from pi_rank.files.foreign import SMALL_BYTES, read_foreign
from pi_rank.files.private import replace_private

_TRUSTING = [False]


class Trusted(msgspec.Struct, frozen=True):
    """One folder: SHA-256 of its settings, the memory that they lead to, and that of each of its files.

    `files` None: whatever that memory says. `sources`: SHA-256 of what agents' own files in the folder say,
    by their path below it; None: whatever they will say.
    """

    settings: str
    memory: str
    files: dict[str, str] | None = None
    sources: dict[str, str] | None = {}


def trust_file() -> Path:
    """Where the list is kept: in the user's folder of settings."""
    import platformdirs

    return Path(platformdirs.user_config_dir("pi-rank")) / "trust.json"


def trusted_folders() -> Mapping[str, Trusted]:
    """Folder → what of it is trusted. A list that cannot be read trusts nothing.

    :raises ConfigError: the list is there and is none.
    """
    path = trust_file()
    try:
        return msgspec.json.decode(read_foreign(path, SMALL_BYTES), type=dict[str, Trusted])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise ConfigError(f"{path} cannot be read ({error}); remove it, and trust folders anew") from None


def write_trusted(folders: Mapping[str, Trusted]) -> None:
    """Replace the list.

    :raises OSError: it cannot be written; it is as it was.
    """
    path = trust_file()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_private(path, msgspec.json.format(msgspec.json.encode(dict(sorted(folders.items()))), indent=2))


def is_trusting() -> bool:
    """Whether everything is trusted for now."""
    return _TRUSTING[0]


@contextmanager
def trusting(everything: bool) -> Iterator[None]:
    """Trusts everything for this run, where `everything`."""
    before = _TRUSTING[0]
    _TRUSTING[0] = before or everything
    try:
        yield
    finally:
        _TRUSTING[0] = before
