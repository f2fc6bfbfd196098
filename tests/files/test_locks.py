"""Locks between processes: held by one, dropped with it, and never mistaken for held by who only looks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pi_rank.files.locks import FileLock, Held, exclusive, holder, is_held

HOLDER = """
import sys, time
from pathlib import Path
from pi_rank.files.locks import FileLock
lock = FileLock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def test_a_lock_ends_with_its_holder(tmp_path):
    path = tmp_path / "deep" / "lock"
    assert not is_held(path)
    process = subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline().strip() == b"held"
        assert is_held(path)
        assert holder(path) == process.pid
        with pytest.raises(Held) as caught:
            FileLock(path, 0.0)
        assert caught.value.pid == process.pid
    finally:
        process.kill()
        process.communicate()
    FileLock(path, 5.0).release()
    assert holder(path) == os.getpid()
    assert not is_held(path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_a_lock_holds_on_a_full_disk(tmp_path, monkeypatch):
    full = os.open("/dev/full", os.O_WRONLY)
    real = os.write
    monkeypatch.setattr("pi_rank.files.locks.os.write", lambda _, data: real(full, data))
    lock = FileLock(tmp_path / "lock")
    assert is_held(tmp_path / "lock")
    lock.release()
    os.close(full)
    assert holder(tmp_path / "lock") is None


@pytest.mark.skipif(os.name != "posix", reason="needs a pipe with a name")
def test_a_lock_that_is_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "lock")
    with pytest.raises(OSError, match="not a regular file"), exclusive(tmp_path / "lock"):
        pytest.fail("the lock was taken")


def test_looking_whether_a_lock_is_held_keeps_nobody_from_it(tmp_path):
    """A daemon that starts while others look for it was taken for a second one."""
    lock = tmp_path / "lock"
    lock.touch()
    stop = threading.Event()

    def look():
        while not stop.is_set():
            is_held(lock)
            time.sleep(0.005)

    watchers = [threading.Thread(target=look) for _ in range(4)]
    for watcher in watchers:
        watcher.start()
    try:
        for _ in range(100):
            with exclusive(lock):
                assert is_held(lock)
    finally:
        stop.set()
        for watcher in watchers:
            watcher.join()
