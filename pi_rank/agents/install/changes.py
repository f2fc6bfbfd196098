"""What installing or uninstalling changes in which file: worked out first, shown, then done."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from pi_rank.agents.install import config_files, json_edits, toml_edits
from pi_rank.agents.install.ledger import Entry, Ledger, digest
from pi_rank.agents.install.targets import Request, Target, targets
from pi_rank.errors import ConfigError

OUR_FILE = "`pi-rank install "  # what the head of each extension of ours says


class Change(NamedTuple):
    """One file: as it is, as it will be, and as it is without us. None: no file."""

    path: Path
    now: str | None
    then: str | None
    without: str | None

    @property
    def diff(self) -> str:
        """The change for a reader; empty where there is none."""
        if self.now == self.then:
            return ""
        old, new = (_lines(text) for text in (self.now, self.then))
        before, after = (
            str(self.path) if text is not None else "/dev/null" for text in (self.now, self.then)
        )
        return "".join(difflib.unified_diff(old, new, before, after, n=2))


def installation(request: Request, ledger: Ledger) -> list[Change]:
    """What installing changes; files that are as they should be are among them, unchanged.

    :raises ConfigError: a file cannot be read or does not allow it; nothing was changed.
    """
    changes = []
    for path, wanted in _by_file(request):
        with _naming(path):
            now = config_files.read_text(path)
            without = _without(path, wanted, now, ledger.of(request.agent, path), ledger)
            changes.append(Change(path, now, _with(path, wanted, without), without))
    return changes


def removal(request: Request, ledger: Ledger) -> list[Change]:
    """What uninstalling changes.

    :raises ConfigError: a file cannot be read; nothing was changed.
    """
    changes = []
    for path, wanted in _by_file(request):
        with _naming(path):
            now = config_files.read_text(path)
            without = _without(path, wanted, now, ledger.of(request.agent, path), ledger)
            changes.append(Change(path, now, without, without))
    return changes


def install(change: Change, agent: str, ledger: Ledger) -> str | None:
    """Do it; where a copy of the file as it was is kept, None where there was no file.

    :raises ConfigError: it cannot be done; the file is as it was.
    """
    assert change.then is not None
    known = ledger.of(agent, change.path)
    backup = None if change.without is None else ledger.keep_text(change.path, change.without)
    folders = config_files.write_text(change.path, change.now, change.then)
    old, new = _difference(change.without or "", change.then)
    entry = Entry(
        agent=agent,
        path=str(change.path),
        before=None if change.without is None else digest(change.without),
        after=digest(change.then),
        backup=backup,
        old=old,
        new=new,
        folders=tuple(folders) or (known.folders if known else ()),
    )
    ledger.put(entry)
    return backup


def uninstall(change: Change, agent: str, ledger: Ledger) -> None:
    """Do it, and remove the folders that were made for the file, where nothing else is in them.

    :raises ConfigError: it cannot be done; the file is as it was.
    """
    known = ledger.of(agent, change.path)
    if change.now != change.then:
        assert change.now is not None
        if change.then is not None:
            config_files.write_text(change.path, change.now, change.then)
        else:
            if known is None or digest(change.now) != known.after:
                ledger.keep_text(change.path, change.now)  # somebody changed it, and may want that again
            config_files.remove(change.path, change.now)
    if known is not None:
        for folder in known.folders if change.then is None else ():
            with suppress(OSError):  # something else is in it, or it has gone
                Path(folder).rmdir()
        ledger.drop(known)


def _by_file(request: Request) -> Iterator[tuple[Path, Target]]:
    """The targets, those of one file joined."""
    joined: dict[Path, Target] = {}
    for target in targets(request):
        known = joined.get(target.path)
        joined[target.path] = target._replace(elements=known.elements + target.elements) if known else target
    yield from joined.items()


def _with(path: Path, wanted: Target, text: str | None) -> str:
    if wanted.whole:
        if text is not None:
            raise ConfigError("it is there and not ours; move it away first")
        return wanted.whole
    if wanted.tables:
        return toml_edits.with_tables(text or "", wanted.tables)
    changed = text or ""
    for element in wanted.elements:
        changed = json_edits.with_element(changed, element)
    return changed


def _without(path: Path, wanted: Target, now: str | None, known: Entry | None, ledger: Ledger) -> str | None:
    """The file as it would be had we never been there."""
    if now is None:
        return None
    if wanted.whole:
        return None if OUR_FILE in now else now
    if known is not None and digest(now) == known.after:
        before = None if known.before is None else ledger.text_before(known)
        if known.before is None or before is not None:
            return before
    if known is not None and known.new and now.count(known.new) == 1:
        spliced = now.replace(known.new, known.old)
        with suppress(ConfigError):
            if _taken_out(wanted, spliced) == spliced:
                return spliced
    return _taken_out(wanted, now)


def _taken_out(wanted: Target, text: str) -> str:
    if wanted.tables:
        return toml_edits.without_tables(text)
    for element in wanted.elements:
        shorter = json_edits.without_element(text, element)
        text = json_edits.without_empty(shorter, element.path) if shorter != text else text
    return text


def _difference(before: str, after: str) -> tuple[str, str]:
    """The one stretch in which two texts differ, of each."""
    most = min(len(before), len(after))
    head = next((at for at in range(most) if before[at] != after[at]), most)
    tail = next((at for at in range(most - head) if before[-1 - at] != after[-1 - at]), most - head)
    return before[head : len(before) - tail], after[head : len(after) - tail]


def _lines(text: str | None) -> list[str]:
    lines = (text or "").splitlines(keepends=True)
    return [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines]


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Puts the file's name before what is wrong with it."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(str(error) if str(path) in str(error) else f"{path}: {error}") from None
