from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import time

import numpy as np
import pytest

from pi_rank.ranking.array_file import CacheMismatch, checksum, read_arrays, write_arrays

ARRAYS = {
    "rows": np.arange(100, dtype=np.int32),
    "none": np.empty(0, np.float64),
    "byte": np.array([7], np.uint8),
    "impacts": np.linspace(0, 1, 33),
}


def test_arrays_come_back_aligned_and_read_only(tmp_path):
    write_arrays(tmp_path / "cache", "kind", "key", ARRAYS)
    read = read_arrays(tmp_path / "cache", "kind", "key")
    assert list(read) == list(ARRAYS)
    for name, array in read.items():
        assert np.array_equal(array, ARRAYS[name])
        assert array.dtype == ARRAYS[name].dtype
        assert array.ctypes.data % 64 == 0
        assert not array.flags.writeable


def test_the_second_write_replaces_the_first_and_leaves_nothing_else(tmp_path):
    write_arrays(tmp_path / "cache", "kind", "1", ARRAYS)
    first = read_arrays(tmp_path / "cache", "kind", "1")
    write_arrays(tmp_path / "cache", "kind", "2", {"rows": np.zeros(3, np.int32)})
    assert first["rows"].tolist() == list(range(100))
    assert read_arrays(tmp_path / "cache", "kind", "2")["rows"].tolist() == [0, 0, 0]
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


@pytest.mark.parametrize(("kind", "key"), [("kind", "other"), ("other", "key"), ("kind", "")])
def test_another_kind_or_key_is_refused(tmp_path, kind, key):
    write_arrays(tmp_path / "cache", "kind", "key", ARRAYS)
    with pytest.raises(CacheMismatch, match=r"holds \(2, 'kind', 'key'\), not"):
        read_arrays(tmp_path / "cache", kind, key)


def test_damaged_bytes_and_cuts_are_noticed(tmp_path):
    path = tmp_path / "cache"
    write_arrays(path, "kind", "key", ARRAYS)
    whole = path.read_bytes()
    for at in [*range(20), *random.Random(1).sample(range(20, len(whole)), 400)]:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        with pytest.raises(CacheMismatch):
            read_arrays(path, "kind", "key")
    for size in [0, 1, 19, 20, *random.Random(1).sample(range(len(whole)), 50)]:
        path.write_bytes(whole[:size])
        with pytest.raises(CacheMismatch):
            read_arrays(path, "kind", "key")


def test_no_file_and_a_foreign_file_are_refused(tmp_path):
    with pytest.raises(CacheMismatch, match="no usable cache"):
        read_arrays(tmp_path / "absent", "kind", "key")
    (tmp_path / "foreign").write_bytes(b"SQLite format 3\x00" * 10)
    with pytest.raises(CacheMismatch, match="is no cache file of pi_rank"):
        read_arrays(tmp_path / "foreign", "kind", "key")


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    write_arrays(tmp_path / "cache", "kind", "key", ARRAYS)
    with pytest.raises(TypeError):
        write_arrays(tmp_path / "cache", "kind", "key", {"bad": np.array([object()])})
    assert read_arrays(tmp_path / "cache", "kind", "key")["byte"].tolist() == [7]
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


WRITER = """
import sys
from pathlib import Path
import numpy as np
from pi_rank.ranking.array_file import write_arrays
number = 0
while True:
    number += 1
    write_arrays(Path(sys.argv[1]), "kind", str(number % 2), {"rows": np.full(50_000, number % 2, np.int32)})
    if number == 1:
        print("ready", flush=True)
"""


def test_a_writer_killed_at_any_moment_leaves_one_whole_file(tmp_path):
    pauses = random.Random(1)
    for _ in range(10):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, tmp_path / "cache"], stdout=subprocess.PIPE)
        assert writer.stdout.readline().strip() == b"ready"
        time.sleep(pauses.random() / 20)
        writer.kill()
        writer.communicate()
        whole = []
        for key in ("0", "1"):
            with contextlib.suppress(CacheMismatch):
                whole.append((key, read_arrays(tmp_path / "cache", "kind", key)["rows"]))
        [(key, rows)] = whole
        assert rows.tolist() == [int(key)] * 50_000


def test_the_checksum_tells_any_two_words_and_rows_apart():
    data = np.frombuffer(random.Random(3).randbytes(5 * 65_536 + 77), np.uint8)
    seen = {checksum(data)}
    for place in [0, 7, 65_536, 3 * 65_536 - 1, data.size - 1]:
        for bit in (0, 7):
            other = data.copy()
            other[place] ^= 1 << bit
            seen.add(checksum(other))
    rows = data[: 5 * 65_536].reshape(5, 65_536)
    seen |= {
        checksum(np.concatenate([rows[order].ravel(), data[5 * 65_536 :]]))
        for order in ([1, 0, 2, 3, 4], [4, 1, 2, 3, 0])
    }
    twice = data.copy()
    twice[[7, 65_536 + 7]] ^= 0x80  # the highest bits of one column
    seen |= {checksum(twice), checksum(data[:-1]), checksum(np.append(data, np.uint8(0)))}
    assert len(seen) == 1 + 10 + 2 + 3


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX")
def test_a_cache_is_its_owners_alone_and_no_link_is_followed(tmp_path):
    before = os.umask(0o022)
    try:
        write_arrays(tmp_path / "cache", "kind", "key", ARRAYS)
    finally:
        os.umask(before)
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o600
    (tmp_path / "link").symlink_to(tmp_path / "cache")
    with pytest.raises(CacheMismatch, match="is a link"):
        read_arrays(tmp_path / "link", "kind", "key")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CacheMismatch, match="not a regular file"):
        read_arrays(tmp_path / "pipe", "kind", "key")
