from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from pi_rank.memory import files
from pi_rank.memory.files import LiveFile, is_known, read_version, without_bom

OLD = time.time() - 3600


def age(path, seconds=OLD):
    os.utime(path, (seconds, seconds))
    return path


def test_a_quiet_file_is_known_by_size_and_time(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"one")
    version = read_version(age(path))
    assert (version.data, version.stable, version.fingerprint.settled) == (b"one", True, True)
    assert is_known(path, version.fingerprint)
    age(path, OLD + 60)
    assert not is_known(path, version.fingerprint)
    path.write_bytes(b"longer")
    assert not is_known(age(path), version.fingerprint)
    path.unlink()
    assert not is_known(path, version.fingerprint)


def test_a_file_just_written_is_not_known_by_size_and_time(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"one")
    first = read_version(path).fingerprint
    assert not first.settled
    assert not is_known(path, first)


def test_a_file_that_changes_while_it_is_read_is_read_again(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"half")
    real_stat, calls = files.regular_stat, []

    def stat_and_interfere(name):
        result = real_stat(name)
        calls.append(name)
        if len(calls) == 1:  # between the first stat and the first read another program writes
            path.write_bytes(b"whole file")
        return result

    monkeypatch.setattr(files, "regular_stat", stat_and_interfere)
    version = read_version(path)
    assert (version.data, version.stable) == (b"whole file", True)
    assert len(calls) >= 4


def test_a_writer_that_never_stops_gets_an_unstable_version(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "RETRY_SECONDS", 0)
    path = tmp_path / "a"
    real_stat = files.regular_stat

    def stat_and_interfere(name):
        with path.open("ab") as out:
            out.write(b"x")
        return real_stat(name)

    monkeypatch.setattr(files, "regular_stat", stat_and_interfere)
    version = read_version(path)
    assert not version.stable
    assert not version.fingerprint.settled


WRITER = """
import sys, time
number = 0
while True:
    with open(sys.argv[1], "wb") as file:
        file.write(b"abc"[number % 3 : number % 3 + 1] * 200_000)
    number += 1
    time.sleep(0.06)
"""


def test_whole_versions_only_under_a_real_writer(tmp_path):
    path = tmp_path / "a"
    versions = [bytes([letter]) * 200_000 for letter in b"abc"]
    path.write_bytes(versions[0])
    # A process of its own: a thread would wait for the reader's GIL with the file emptied.
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)])
    try:
        seen = [read_version(path) for _ in range(40)]
    finally:
        writer.kill()
        writer.wait()
    whole = [version for version in seen if version.stable]
    assert whole
    assert all(version.data in versions for version in whole)


def test_folders_and_pipes_are_not_opened(tmp_path):
    with pytest.raises(IsADirectoryError):
        read_version(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="regular"):
            read_version(tmp_path / "pipe")


def test_a_live_file_is_parsed_once_per_version(tmp_path):
    parsed = []

    def parse(data):
        parsed.append(data)
        return data.decode()

    path = tmp_path / "a"
    live = LiveFile(path, parse)
    assert live.read() == ""
    path.write_bytes(b"\xef\xbb\xbfone")
    age(path)
    assert [live.read(), live.read()] == ["one", "one"]
    assert parsed.count(b"one") == 1
    path.write_bytes(b"two")
    assert live.read() == "two"
    path.unlink()
    assert live.read() == ""


def test_a_live_file_within_its_clocks_step_is_read_each_time(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"one")
    live = LiveFile(path, bytes.decode)
    assert live.read() == "one"
    before = path.stat()
    path.write_bytes(b"two")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert live.read() == "two"


def test_byte_order_mark():
    assert without_bom(b"\xef\xbb\xbfx") == b"x"
    assert without_bom(b"x") == b"x"
