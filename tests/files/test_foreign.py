"""Every file that is not ours, whatever lies in its place: bytes or an OSError, at once and bounded."""

from __future__ import annotations

import os
import socket
import tracemalloc

import pytest

from pi_rank.files.foreign import read_foreign, regular_stat

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")


def test_a_regular_file_and_a_link_to_one(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"x" * 200_000)
    assert read_foreign(path, 200_000) == b"x" * 200_000
    assert read_foreign(str(path), 1 << 30) == b"x" * 200_000
    link = tmp_path / "link"
    try:
        link.symlink_to(path)
    except OSError:
        return
    assert len(read_foreign(link, 200_000)) == 200_000
    (tmp_path / "empty").touch()
    assert read_foreign(tmp_path / "empty", 0) == b""


def test_a_longer_file_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(40 << 30)
    tracemalloc.start()
    try:
        with pytest.raises(OSError, match=r"has 42,949,672,960 bytes; at most 1,000 are read"):
            read_foreign(path, 1_000)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_file_that_grows_past_the_limit_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "growing"
    path.write_bytes(b"x" * 90)
    real = os.read

    def grow(descriptor, count):
        with path.open("ab") as file:
            file.write(b"y" * 50)
        return real(descriptor, count)

    monkeypatch.setattr("pi_rank.files.foreign.os.read", grow)
    with pytest.raises(OSError, match="is longer than the 100 bytes"):
        read_foreign(path, 100)


@pytest.mark.parametrize("name", ["missing", "a\0b", "half \udcff and \ud800", "x" * 5_000])
def test_what_is_no_path_is_an_error_of_the_system(tmp_path, name):
    with pytest.raises(OSError, match=r"."):
        read_foreign(tmp_path / name, 10)


@posix
@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "socket", "loop"])
def test_nothing_else_is_opened(tmp_path, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "odd"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "loop":
        path.symlink_to(path)
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("odd")
    opened = []
    monkeypatch.setattr("pi_rank.files.foreign.os.open", lambda *a, **k: opened.append(a))
    with pytest.raises(OSError, match=r"."):
        read_foreign(path, 10)
    with pytest.raises(OSError, match=r"."):
        regular_stat(path)
    assert opened == []


@posix
def test_a_pipe_that_takes_a_files_place_is_not_waited_for(tmp_path, monkeypatch):
    """Between the check and the opening: it is opened without waiting, and looked at again."""
    path = tmp_path / "swapped"
    path.write_bytes(b"x")
    real = os.open

    def swap(*arguments):
        path.unlink()
        os.mkfifo(path)
        return real(*arguments)

    monkeypatch.setattr("pi_rank.files.foreign.os.open", swap)
    with pytest.raises(OSError, match="not a regular file"):
        read_foreign(path, 10)
