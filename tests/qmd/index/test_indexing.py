"""An update makes the index hold what the folder holds, and touches nothing else."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from pathlib import Path

import pytest

from pi_rank.qmd.config import Collection
from pi_rank.qmd.index import indexing
from pi_rank.qmd.index.index import UPGRADED_VERSION, generation, open_index
from pi_rank.ranking.analysis import FtsAnalyzer


class Folder:
    """A collection's folder and its index."""

    def __init__(self, path):
        self.root = path / "notes"
        self.root.mkdir()
        self.connection = open_index(path / "index.sqlite3", create=True)
        self.analyzer = FtsAnalyzer()

    def write(self, name, text, age=100):
        """A file that was last written some seconds ago."""
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        moment = file.stat().st_mtime_ns - age * 10**9
        os.utime(file, ns=(moment, moment))
        return file

    def update(self):
        """(new, updated, unchanged, removed)"""
        return self.counts()[:4]

    def counts(self):
        return indexing.update(self.connection, Collection("c", str(self.root)), self.analyzer)

    def paths(self):
        return [row[0] for row in self.connection.execute("SELECT path FROM files ORDER BY path")]

    def count(self, table):
        return self.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


@pytest.fixture
def folder(tmp_path):
    made = Folder(tmp_path)
    yield made
    made.connection.close()
    made.analyzer.close()


@pytest.mark.parametrize("instead", [None, "# A\n\nsomething else"], ids=["gone", "changed"])
def test_a_deleted_text_and_its_words_leave_the_index(folder, instead):
    for number in range(30):
        folder.write(f"{number}.md", f"# Note {number}\n\nnothing of interest")
    folder.write("a.md", "# A\n\nSECRETSTATEMENT of zebrafish")
    folder.update()

    def held():
        files = folder.root.parent.glob("index.sqlite3*")
        return any(b"SECRET" in (data := file.read_bytes()) or b"zebrafish" in data for file in files)

    assert held()
    if instead is None:
        (folder.root / "a.md").unlink()
    else:
        folder.write("a.md", instead, age=50)
    folder.update()
    assert not held()


def test_new_changed_and_removed_files(folder):
    folder.write("a.md", "# A\n\none")
    file = folder.write("b.md", "# B\n\ntwo")
    assert folder.update() == (2, 0, 0, 0)
    before = generation(folder.connection)
    assert folder.update() == (0, 0, 2, 0)
    assert generation(folder.connection) == before, "nothing changed, so no reader has to look"
    folder.write("a.md", "# A\n\nchanged")
    file.unlink()
    assert folder.update() == (0, 1, 0, 1)
    assert folder.paths() == ["a.md"]
    assert [folder.count(table) for table in ("contents", "words", "chunks", "passages")] == [1, 1, 1, 1]


def test_a_file_is_read_only_where_size_or_time_differ(folder, monkeypatch):
    file = folder.write("a.md", "# A\n\none")
    folder.update()
    monkeypatch.setattr(indexing._Update, "_read", lambda *_: pytest.fail("the file was read"))
    assert folder.update() == (0, 0, 1, 0)
    os.utime(file)
    with pytest.raises(pytest.fail.Exception):
        folder.update()


def test_a_touched_file_is_unchanged(folder):
    file = folder.write("a.md", "# A\n\none")
    folder.update()
    os.utime(file)
    assert folder.update() == (0, 0, 1, 0)


def test_a_file_written_twice_within_the_clocks_step_is_read_again(folder):
    file = folder.write("a.md", "# A\n\none", age=0)
    moment = file.stat().st_mtime_ns
    folder.update()
    file.write_text("# A\n\ntwo", encoding="utf-8")
    os.utime(file, ns=(moment, moment))
    assert folder.update() == (0, 1, 0, 0)


def test_a_moved_file_keeps_its_vectors(folder):
    text = "# A\n\nsome text"
    folder.write("a.md", text).rename(folder.root / "z.md")
    folder.write("a.md", text)
    folder.update()
    hash_ = folder.connection.execute("SELECT text_hash FROM passages").fetchone()[0]
    folder.connection.execute(
        "INSERT INTO vectors (model_id, text_hash, vector) VALUES ('m', ?, x'00')", (hash_,)
    )
    (folder.root / "a.md").rename(folder.root / "moved.md")
    (folder.root / "z.md").unlink()
    assert folder.update() == (1, 0, 0, 2)
    assert folder.paths() == ["moved.md"]
    assert folder.count("vectors") == 1
    (folder.root / "moved.md").unlink()
    folder.update()
    assert folder.count("vectors") == 0


def test_same_content_is_embedded_once(folder):
    folder.write("a.md", "# Same\n\ntext")
    folder.write("b.md", "# Same\n\ntext")
    folder.update()
    assert folder.connection.execute(
        "SELECT count(DISTINCT text_hash), count(*) FROM passages"
    ).fetchone() == (1, 2)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"# A\n\0\x01binary", "binary"),
        (b"\xff\xfea\0b\0", "binary"),
        (b"x" * (indexing.MAX_FILE_BYTES + 1), "bytes"),
    ],
)
def test_what_is_no_note_is_skipped_and_named(folder, content, why):
    folder.write("a.md", content)
    folder.write("b.md", "fine")
    counts = folder.counts()
    assert counts[:4] == (1, 0, 0, 0)
    assert counts.warnings[0].startswith("a.md: skipped (") and why in counts.warnings[0]


def test_bytes_that_are_no_utf8_do_not_lose_the_file(folder):
    data = b"\xef\xbb\xbf# Caf\xe9\n\nlatin one\n"
    folder.write("a.md", data)
    folder.update()
    assert folder.connection.execute("SELECT title, hash FROM files").fetchone() == (
        "Caf\ufffd",
        hashlib.sha256(data).hexdigest(),
    )


def test_a_file_that_goes_away_while_it_is_read(folder, monkeypatch):
    folder.write("a.md", "one")
    folder.write("b.md", "two")
    folder.update()
    real = indexing.scan

    def scan_then_lose(root, pattern):
        found = real(root, pattern)
        (folder.root / "a.md").unlink()
        folder.write("b.md", "renamed over, with another size")
        return found._replace(files=[file._replace(mtime_ns=1) for file in found.files])

    monkeypatch.setattr(indexing, "scan", scan_then_lose)
    assert folder.update() == (0, 1, 0, 1)
    assert folder.paths() == ["b.md"]


def test_what_cannot_be_looked_at_is_kept(folder, monkeypatch):
    folder.write("sub/a.md", "one")
    folder.write("b.md", "two")
    folder.update()
    real = indexing.scan

    def scan_without(root, pattern):
        found = real(root, pattern)
        return found._replace(files=found.files[:1], unreadable=["sub"], warnings=["sub: cannot be read"])

    monkeypatch.setattr(indexing, "scan", scan_without)
    assert folder.counts() == (0, 0, 2, 0, ("sub: cannot be read",))
    assert folder.paths() == ["b.md", "sub/a.md"]


def test_a_missing_root_keeps_everything_and_says_so(folder):
    """An unmounted disk must not empty the index."""
    folder.write("a.md", "one")
    folder.update()
    folder.root.rename(folder.root.with_name("away"))
    counts = folder.counts()
    assert counts[:4] == (0, 0, 1, 0)
    assert "cannot be read" in counts.warnings[0]


def test_an_update_that_fails_leaves_the_index_as_it_was(folder, monkeypatch):
    folder.write("a.md", "one")
    folder.update()
    folder.write("a.md", "changed")
    folder.write("b.md", "two")
    monkeypatch.setattr(indexing, "title_of", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        folder.update()
    assert folder.paths() == ["a.md"]
    assert folder.connection.execute("SELECT body FROM contents").fetchall() == [("one",)]


def test_a_disk_that_is_full(world):
    """The command says so; the index still answers."""
    resource = pytest.importorskip("resource")
    import subprocess
    import sys

    docs = world.documents()
    world.ok("collection", "add", str(docs), "--name", "c")
    database = next((world.home / "cache" / "qmd").glob("*.sqlite3"))
    limit = database.stat().st_size + 4096
    for number in range(200):
        world.write(f"docs/more/{number}.md", f"# Note {number}\n\n" + f"word{number} " * 2000)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from pi_rank.qmd.command import main; sys.exit(main())",
            "update",
        ],
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "could not be written" in done.stderr and "make room" in done.stderr
    rows = json.loads(world.ok("search", "--json", "deploy", "friday"))
    assert len(rows) == 3


@pytest.mark.parametrize(
    "content", [b"this is no database, it is a text of more than sixteen bytes", b"\0" * 4096]
)
def test_a_file_that_is_no_index_is_left_alone(world, content):
    world.documents()
    file = world.write("cache/qmd/index.pi-rank.sqlite3", content)
    ran = world.qmd("collection", "add", "docs", "--name", "c")
    assert ran.code == 1
    assert "Traceback" not in ran.err and str(file) in ran.err
    assert file.read_bytes() == content


def test_another_programs_database_is_left_alone(world):
    file = world.write("other/qmd.sqlite", b"")
    with sqlite3.connect(file.with_name("qmd.pi-rank.sqlite3")) as database:
        database.execute("CREATE TABLE theirs (x)")
    database.close()
    world.documents()
    ran = world.qmd("collection", "add", "docs", "--name", "c", INDEX_PATH=str(file))
    assert ran.code == 1 and "another program's file" in ran.err
    assert file.read_bytes() == b""


def test_an_index_of_the_version_before_is_made_this_one_when_it_is_opened(folder, tmp_path):
    folder.write("a.md", "# 部署\n\n部署必须在周二早上, Straße")
    folder.update()
    before = folder.connection.execute("SELECT terms FROM chunks").fetchall()
    folder.connection.execute("DROP TABLE words")
    folder.connection.execute("CREATE VIRTUAL TABLE words USING fts5(title, body)")
    folder.connection.execute("UPDATE chunks SET terms = x''")
    folder.connection.execute(f"PRAGMA user_version = {UPGRADED_VERSION}")
    then = generation(folder.connection)
    connection = open_index(tmp_path / "index.sqlite3")
    assert connection.execute("SELECT terms FROM chunks").fetchall() == before
    assert connection.execute("SELECT rowid FROM words WHERE words MATCH '周二 AND strasse'").fetchall()
    assert generation(connection) > then
    connection.close()
