"""The store where things go wrong: other processes, full disks, killed writers, files that are not ours."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import pytest

from pi_rank.errors import MemoryRootError, StoreError, StoreVersionError
from pi_rank.memory.records import decode_record
from pi_rank.memory.root import MemoryRoot
from pi_rank.store import schema as store_schema
from pi_rank.store.store import MemoryStore
from tests.support.memory_files import L2, CountingAnalyzer, line, write

REPOSITORY = Path(__file__).resolve().parents[2]


def worker(*arguments, **options):
    command = [sys.executable, "-m", "tests.support.store_worker", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(
        command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, text=True, **options
    )


def finished(*arguments, **options):
    process = worker(*arguments, **options)
    output, _ = process.communicate(timeout=120)
    return process.returncode, output.strip()


def make_root(path, count, mark):
    write(path, L2, *(line(f"mem_{number}", statement=f"{mark} {number}") for number in range(count)))
    return path


def marks(store):
    """The first words of all statements, by id; the search index must say the same."""
    found = {row.id: decode_record(row.payload).statement.split()[0] for row in store.rows().added}
    for mark in set(found.values()):
        assert len(store.lexical_search(f'"{mark}"', 10_000)) == list(found.values()).count(mark)
    return found


def check_sound(path):
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.execute("INSERT INTO records_fts (records_fts) VALUES ('integrity-check')")
    connection.close()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache" / "store.sqlite3"


def test_a_killed_sync_leaves_one_whole_version(tmp_path, path):
    roots = [make_root(tmp_path / mark, 300, mark) for mark in ("ant", "bee")]
    chance = random.Random(1)
    for _ in range(4):
        process = worker("sync_many", path, *roots)
        assert process.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0.02, 0.3))
        process.kill()
        process.communicate()
        with MemoryStore.open(path) as store:
            found = marks(store)
        assert len(found) in (0, 300)
        assert len(set(found.values())) <= 1
        check_sound(path)


def test_two_processes_that_sync_at_once_take_turns(tmp_path, path):
    root = make_root(tmp_path / "root", 2_000, "ant")
    both = [worker("sync", path, root, 20) for _ in range(2)]
    outputs = [process.communicate(timeout=120)[0].strip() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert outputs == ["1", "1"]
    with MemoryStore.open(path) as store:
        assert len(marks(store)) == 2_000
        assert store.generation == 1
    check_sound(path)


def test_a_store_that_another_process_makes_meanwhile_is_not_taken_for_a_foreign_file(path):
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as first:
        first.execute("PRAGMA journal_mode = WAL")
    with closing(sqlite3.connect(path, isolation_level=None)) as looking:
        made = []

        def make_it(statement):
            if "user_version" in statement and not made:
                made.append(MemoryStore.open(path))

        looking.set_trace_callback(make_it)
        assert store_schema._is_ours(looking, path) is False  # as it was when the look began
        assert store_schema._is_ours(looking, path) is True
        made[0].close()


def test_a_reader_in_another_process_never_sees_half_a_sync(tmp_path, path):
    roots = [make_root(tmp_path / mark, 300, mark) for mark in ("ant", "bee")]
    process = worker("sync_many", path, *roots)
    assert process.stdout.readline() == "ready\n"
    try:
        with MemoryStore.open(path) as store:
            generations = set()
            deadline = time.monotonic() + 30
            while len(generations) < 5 and time.monotonic() < deadline:
                changes = store.rows()
                statements = [decode_record(row.payload).statement.split()[0] for row in changes.added]
                assert len(statements) in (0, 300)
                assert len(set(statements)) <= 1
                generations.add(changes.generation)
    finally:
        process.kill()
        process.communicate()
    assert len(generations) >= 5


def test_an_incremental_reader_follows_a_writer_in_another_process(tmp_path, path):
    root = make_root(tmp_path / "root", 50, "ant")
    with MemoryStore.open(path) as store:
        store.sync_root(MemoryRoot(root), CountingAnalyzer())
        held = {row.rowid: row.id for row in store.rows().added}
        seen = store.version()
        write(root, L2, *(line(f"mem_{number}", statement=f"bee {number}") for number in range(25, 60)))
        assert finished("sync", path, root) == (0, "2")
        assert store.generation == 2
        changes = store.rows(since=seen)
        for rowid in changes.removed:
            del held[rowid]
        held |= {row.rowid: row.id for row in changes.added}
        assert held == {row.rowid: row.id for row in store.rows().added}


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are POSIX")
def test_a_full_disk_costs_the_sync_and_nothing_else(tmp_path, path):
    root = make_root(tmp_path / "root", 50, "ant")
    assert finished("sync", path, root)[0] == 0
    make_root(tmp_path / "root", 5_000, "bee")
    code, output = finished("sync_with_limit", path, root, 200_000)
    assert code == 3
    assert "could not be written" in output
    assert "make room on the disk" in output
    with MemoryStore.open(path) as store:
        assert marks(store) == {f"mem_{number}": "ant" for number in range(50)}
        assert store.sync_root(MemoryRoot(root), CountingAnalyzer()).changed == 50
        assert set(marks(store).values()) == {"bee"}
    check_sound(path)


def test_a_store_of_another_version_says_how_to_go_on(path):
    MemoryStore.open(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreVersionError, match="schema version 99, not 5 as here; `pi-rank rebuild`"):
        MemoryStore.open(path)
    with pytest.raises(StoreVersionError):
        MemoryStore.open(path, read_only=True)


@pytest.mark.parametrize("read_only", [True, False])
def test_another_programs_file_is_left_alone(tmp_path, read_only):
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (a)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreVersionError, match="another program's SQLite file and is left alone"):
        MemoryStore.open(path, read_only=read_only)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", [b"plain text, and quite a bit of it" * 50, b"\x00" * 8192])
def test_a_file_that_is_no_database_is_left_alone(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(StoreVersionError, match=r"notes.txt is no store of pi_rank and is left alone"):
        MemoryStore.open(path)
    assert path.read_bytes() == content


def test_damaged_pages_are_an_error_and_never_an_answer(tmp_path, path):
    root = make_root(tmp_path / "root", 500, "ant")
    assert finished("sync", path, root)[0] == 0
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(size - 4096))
    with pytest.raises(StoreError, match="`pi-rank rebuild`"), MemoryStore.open(path) as store:
        store.rows()


def test_one_damaged_page_is_found_by_verifying(tmp_path, path):
    assert finished("sync", path, make_root(tmp_path / "root", 500, "ant"))[0] == 0
    with MemoryStore.open(path, read_only=True) as store:
        store.verify()
    with path.open("r+b") as file:
        file.seek(20 * 4096)
        file.write(random.Random(1).randbytes(4096))
    with MemoryStore.open(path) as store, pytest.raises(StoreError, match="is damaged"):
        store.verify()


def test_an_empty_file_is_a_new_store(tmp_path):
    path = tmp_path / "store.sqlite3"
    path.touch()
    with pytest.raises(StoreError, match="`pi-rank sync` fills it"):
        MemoryStore.open(path, read_only=True)
    with MemoryStore.open(path) as store:
        assert store.generation == 0


def test_a_store_where_none_can_be(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match=r"cannot be made .*PI_RANK_CACHE_DIR"):
        MemoryStore.open(tmp_path / "file" / "store.sqlite3")
    with pytest.raises(StoreError, match="cannot be opened"):
        MemoryStore.open(tmp_path)
    with pytest.raises(StoreError, match="no store at"):
        MemoryStore.open(tmp_path / "absent.sqlite3", read_only=True)


@pytest.fixture
def public_folder():
    """A folder that an unprivileged user can reach (pytest's own are private), for tests run by root."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def as_nobody(task):
    """Run `task` in a child process without root's rights, and return the string that it returned."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            os.write(writing, task().encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        result = pipe.read().decode()
    os.waitpid(child, 0)
    return result


def described(path, *, read_only):
    try:
        with MemoryStore.open(path, read_only=read_only) as store:
            return f"{len(store.rows().added)} rows"
    except StoreError as error:
        return str(error)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="permissions are POSIX")
def test_a_read_only_folder_can_still_be_read(public_folder, tmp_path):
    path = public_folder / "store.sqlite3"
    assert finished("sync", path, make_root(tmp_path / "root", 20, "ant"))[0] == 0
    path.chmod(0o444)
    public_folder.chmod(0o555)
    assert as_nobody(lambda: described(path, read_only=True)) == "20 rows"
    refusal = as_nobody(lambda: described(path, read_only=False))
    assert refusal.endswith("name another with --store or PI_RANK_CACHE_DIR")
    assert str(path) in refusal
    new = as_nobody(lambda: described(public_folder / "new" / "store.sqlite3", read_only=False))
    assert "cannot be made (Permission denied)" in new


@pytest.mark.skipif(not hasattr(os, "fork"), reason="permissions are POSIX")
def test_files_that_may_not_be_read_are_reported_and_keep_their_records(public_folder):
    root = make_root(public_folder / "root", 3, "ant")
    with MemoryStore.open(public_folder / "store.sqlite3") as store:
        store.sync_root(MemoryRoot(root), CountingAnalyzer())
    (root / L2).chmod(0)
    contents = as_nobody(lambda: repr(MemoryRoot(root).read().warnings))
    assert "memory/L2.playbooks.jsonl cannot be read (Permission denied)" in contents
    (root / "memory").chmod(0)
    contents = as_nobody(lambda: repr(MemoryRoot(root).read().warnings))
    assert "cannot be read (Permission denied)" in contents
    (root / "memory").chmod(0o755)
    root.chmod(0)

    def refused():
        try:
            return repr(MemoryRoot(root).read())
        except MemoryRootError as error:
            return str(error)

    assert "cannot be read (Permission denied)" in as_nobody(refused)
    root.chmod(0o755)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="permissions are POSIX")
def test_a_read_only_memory_root_is_enough(public_folder):
    root = make_root(public_folder / "root", 3, "ant")
    (root / "memory").chmod(0o555)
    root.chmod(0o555)
    assert as_nobody(lambda: str(len(MemoryRoot(root).read().records))) == "3"
    for folder in (root, root / "memory"):
        folder.chmod(0o755)
