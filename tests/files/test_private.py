"""Our own files: replaced whole or not at all, closed to others, no link followed, no other user believed."""

from __future__ import annotations

import errno
import os
import stat

import pytest

from pi_rank.files.private import ABANDONED_SECONDS, open_private, replace_private, replacing, write_all

posix = pytest.mark.skipif(os.name != "posix", reason="modes and links as POSIX has them")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@posix
@pytest.mark.parametrize("mode", [0o600, 0o755])
def test_a_file_is_replaced_with_its_mode(tmp_path, mode):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o666)
    replace_private(path, b"new", mode)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert names(tmp_path) == ["file"]


def test_where_writing_fails_the_old_one_stays(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(OSError, match="full"), replacing(path) as file:
        file.write(b"half")
        raise OSError(errno.ENOSPC, "full")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_what_is_written_in_part_is_written_on(tmp_path):
    class Slow:
        def __init__(self):
            self.got = b""

        def write(self, data):
            self.got += bytes(data[:7])
            return min(7, len(data))

    slow = Slow()
    write_all(slow, bytes(range(100)))
    assert slow.got == bytes(range(100))
    write_all(slow, b"")


def test_files_of_killed_writers_are_removed_once_they_are_old(tmp_path):
    path = tmp_path / "cache[1]"
    old, new, other = (
        tmp_path / f".{name}.tmp" for name in ("cache[1].1.aa", "cache[1].2.bb", "cache1.3.cc")
    )
    for half in (old, new, other):
        half.write_bytes(b"half")
    past = old.stat().st_mtime - ABANDONED_SECONDS - 1
    os.utime(old, (past, past))
    os.utime(other, (past, past))
    replace_private(path, b"whole")
    assert not old.exists()
    assert new.exists()
    assert other.exists()


@posix
def test_what_cannot_be_removed_keeps_nobody_from_writing(tmp_path):
    half = tmp_path / ".cache.1.aa.tmp"
    half.mkdir()
    os.utime(half, (0, 0))
    replace_private(tmp_path / "cache", b"whole")
    assert (tmp_path / "cache").read_bytes() == b"whole"


@posix
def test_a_link_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    link = tmp_path / "link"
    link.symlink_to(victim)
    with pytest.raises(OSError, match="is a link"):
        open_private(link, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    replace_private(link, b"new")  # takes the link's place
    assert victim.read_bytes() == b"mine"
    assert not link.is_symlink()


@posix
def test_others_lose_what_they_had_of_a_file_that_is_written_to(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"x")
    path.chmod(0o664)
    os.close(open_private(path, os.O_RDONLY))
    assert stat.S_IMODE(path.stat().st_mode) == 0o664
    os.close(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@posix
@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root can give a file away")
def test_another_users_file_is_not_taken_for_ours(tmp_path):
    path = tmp_path / "lock"
    path.touch()
    os.chown(path, 65534, 65534)
    with pytest.raises(OSError, match="belongs to another user"):
        open_private(path, os.O_RDWR | os.O_CREAT)
