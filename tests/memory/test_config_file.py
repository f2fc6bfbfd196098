"""config.json while it is written, torn, shut or gone: what it shut stays shut, and each time it is said."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
import time

import pytest

from pi_rank.memory import config_file
from pi_rank.memory.config import RootConfig
from pi_rank.memory.config_file import ConfigFile

SHUT = b'{"retrieval": {"injectionMode": "policy_only", "maxRecords": 6}}'
TORN = [
    b"",
    b" \n",
    SHUT[:-1],
    SHUT.replace(b"6}", b"6},"),
    SHUT[:30],
    b"[]",
    b"\x00" * 9,
    b"\xff\xfe{\x00}\x00",
]


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(config_file, "RETRY_SECONDS", 0.001)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "config.json"


def old(path, data):
    path.write_bytes(data)
    os.utime(path, (time.time() - 60, time.time() - 60))


def test_no_file_is_the_defaults(path):
    assert ConfigFile(path).read() == RootConfig()


@pytest.mark.parametrize("torn", TORN)
def test_what_it_last_said_counts_and_is_named(path, torn):
    file = ConfigFile(path)
    path.write_bytes(SHUT)
    assert file.read() == RootConfig("policy_only", 6)
    for _ in range(3):
        path.write_bytes(torn)
        config = file.read()
        assert (config.injection_mode, config.max_records) == ("policy_only", 6)
        (warning,) = config.warnings
        assert warning.startswith("config.json cannot be read (")
        assert warning.endswith("; what it last said is used")
    path.write_bytes(b"{}")
    assert file.read() == RootConfig()


@pytest.mark.parametrize("torn", TORN)
def test_where_nobody_knows_what_it_said_nothing_is_shown(path, torn):
    path.write_bytes(torn)
    config = ConfigFile(path).read()
    assert config.injection_mode == "policy_only"
    assert config.warnings[0].endswith("; mode policy_only is used until it can be")


@pytest.mark.parametrize("said", [SHUT, b'{"retrieval": {"injectionMode": "wakeup"}}', b"{}", None])
def test_another_process_finds_what_it_last_said(path, tmp_path, said):
    kept = tmp_path / "kept.json"
    if said is not None:
        path.write_bytes(said)
    good = ConfigFile(path, kept)
    good.keep()
    expected = good.read()
    path.write_bytes(b"{torn")
    config = ConfigFile(path, kept).read()
    assert config == RootConfig(expected.injection_mode, expected.max_records, warnings=config.warnings)
    assert config.warnings[0].endswith("; what it last said is used")
    ConfigFile(path, kept).keep()  # a torn state is not kept
    assert ConfigFile(path, kept).read().injection_mode == expected.injection_mode
    if os.name == "posix":
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert sorted(tmp_path.iterdir()) == sorted([path, kept])


def test_what_was_noted_is_written_only_when_it_changed(path, tmp_path):
    kept = tmp_path / "kept.json"
    path.write_bytes(SHUT)
    ConfigFile(path, kept).keep()
    before = kept.stat().st_ino
    ConfigFile(path, kept).keep()
    assert kept.stat().st_ino == before
    path.write_bytes(b"{}")
    ConfigFile(path, kept).keep()
    assert kept.read_bytes() == b"{}"


def test_a_damaged_note_is_as_good_as_none(path, tmp_path):
    kept = tmp_path / "kept.json"
    kept.write_bytes(b"{")
    path.write_bytes(b"{")
    assert ConfigFile(path, kept).read().injection_mode == "policy_only"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "loop", "sparse", "nested"])
def test_no_kind_of_file_opens_what_was_shut(path, kind):
    file = ConfigFile(path)
    path.write_bytes(SHUT)
    file.read()
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "nested":
        path.write_bytes(b"[" * 100_000)
    else:
        with path.open("wb") as stream:
            stream.truncate(40 << 30)
    assert file.read().injection_mode == "policy_only"
    assert file.read().warnings[0].endswith("; what it last said is used")
    assert ConfigFile(path).read().injection_mode == "policy_only"


def test_a_settled_file_is_read_once(path, monkeypatch):
    old(path, SHUT)
    file = ConfigFile(path)
    read = []
    monkeypatch.setattr(config_file, "parse_config", lambda data: read.append(data) or RootConfig())
    file.read()
    file.read()
    assert read == [SHUT]
    old(path, b"{}")
    file.read()
    assert read == [SHUT, b"{}"]


def test_a_file_that_is_removed_and_written_anew_is_not_missed(path, monkeypatch):
    path.write_bytes(SHUT)
    file = ConfigFile(path)
    file.read()
    path.unlink()
    monkeypatch.setattr(config_file.time, "sleep", lambda _: path.write_bytes(SHUT))
    assert file.read() == RootConfig("policy_only", 6)
    path.unlink()
    monkeypatch.setattr(config_file.time, "sleep", lambda _: None)
    assert file.read() == RootConfig()


WRITER = """
import sys, time
number = 0
while True:
    number += 1
    with open(sys.argv[1], "wb") as file:
        file.write(b'{"retrieval": {"injectionMode": "policy_only"}, "n": %d}' % number)
    time.sleep(0.001)
"""


@pytest.mark.parametrize("begin", ["before", "while"])
def test_a_writer_in_place_never_opens_it(path, begin):
    path.write_bytes(SHUT)
    file = ConfigFile(path)
    if begin == "before":
        file.read()
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)])
    try:
        until = time.monotonic() + 3
        modes = set()
        while time.monotonic() < until:
            modes.add((file if begin == "before" else ConfigFile(path)).read().injection_mode)
    finally:
        writer.kill()
        writer.wait()
    assert modes == {"policy_only"}


def test_threads_may_share_it(path):
    path.write_bytes(SHUT)
    file = ConfigFile(path)
    seen, stop = set(), threading.Event()

    def look():
        while not stop.is_set():
            seen.add(file.read().injection_mode)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(100):
        path.write_bytes(json.dumps({"retrieval": {"injectionMode": "policy_only"}, "n": number}).encode())
    stop.set()
    for thread in threads:
        thread.join()
    assert seen == {"policy_only"}
