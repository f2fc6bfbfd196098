"""A second user of the same machine: our files are closed to it, and what it puts in our way is refused.

It is `nobody`, and only root can act for it: elsewhere this skips.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    getattr(os, "geteuid", lambda: 1)() != 0, reason="only root can act for another user"
)
NOBODY = 65534
SECRET = "SECRETWORD"
RECORD = {"layer": "L2", "status": "active", "confidence": 0.9}
COMMAND = [sys.executable, "-m", "pi_rank.cli"]
# What another user can do to each path that it is told: read or list, write or add to, connect to.
INTRUDER = f"""
import json, os, socket, stat, sys
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
done = []
def tried(what, path, how):
    try:
        how()
    except OSError:
        return
    done.append([what, path])
def connect(path):
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(2); line.connect(path)
for path in json.load(sys.stdin):
    kind = stat.S_IFMT(os.lstat(path).st_mode) if os.path.lexists(path) else 0
    tried("read", path, lambda: os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK)))
    tried("list", path, lambda: os.listdir(path))
    tried("write", path, lambda: os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK)))
    tried("add", path, lambda: os.mkdir(path + "/added"))
    tried("connect", path, lambda: connect(path))
    tried("remove", path, lambda: os.unlink(path))
print(json.dumps(done))
"""


@pytest.fixture
def base():
    """A folder that every user may look into."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        before = os.umask(0)  # the worst there is: nothing is closed by chance
        try:
            yield folder
        finally:
            os.umask(before)


@pytest.fixture
def home(base, monkeypatch):
    home = base / "home"
    home.mkdir(mode=0o755)
    for name in list(os.environ):
        if name.startswith(("PI_", "XDG_", "QMD_", "INDEX_PATH")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[1]))
    return home


@pytest.fixture
def root(base):
    """A memory large enough for a snapshot."""
    memory = base / "root" / "memory"
    memory.mkdir(parents=True)
    lines = (RECORD | {"id": f"mem_{n}", "statement": f"{SECRET} {n} is said here"} for n in range(5_100))
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (memory / "L2.playbooks.jsonl").write_text(text, encoding="utf-8")
    return memory.parent


def small_root(folder, statement):
    (folder / "memory").mkdir(parents=True)
    line = RECORD | {"id": "mem_1", "statement": statement}
    (folder / "memory/L2.playbooks.jsonl").write_text(json.dumps(line) + "\n")
    return folder


def ran(*words, code=0, **environment):
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        **{"capture_output": True, "text": True, "timeout": 120, "env": {**os.environ, **environment}},
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert code is None or done.returncode == code, (words, done)
    return done


@contextmanager
def serving(*words):
    command = [*COMMAND, "serve", "--port", "0", "--model", "none", *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate(timeout=40)


def told(url, path, body, token):
    import urllib.request

    request = urllib.request.Request(
        url + path, json.dumps(body).encode(), {"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


def intruding(paths):
    """What the other user succeeds in."""
    names = [str(path) for path in paths]
    done = subprocess.run(
        [sys.executable, "-c", INTRUDER], input=json.dumps(names), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return [tuple(each) for each in json.loads(done.stdout)]


def below(*folders):
    return sorted(path for folder in folders for path in folder.rglob("*"))


def test_what_is_ours_is_closed_to_other_users(base, home, root):
    """Where we choose the place, and where the user named one in a folder that others may look into."""
    pytest.importorskip("uvicorn", reason="pi-rank[serve] is not installed")
    mine, project = base / "mine", base / "project"
    mine.mkdir(mode=0o755)
    (project / ".pi").mkdir(parents=True)
    (project / ".pi/settings.json").write_text('{"localPath": "../root"}')
    token = mine / "token"
    token.write_text("sesame")
    token.chmod(0o600)
    ran("sync", "--root", root, "--model", "none")
    ran("context", f"What does {SECRET} 7 say?", "--root", root, "--model", "none")
    ran("trust", project)
    at = ("--root", root, "--store", mine / "s.sqlite3")
    ran("sync", *at, "--model", "none")
    documents = home / "documents"
    documents.mkdir()
    (documents / "a.md").write_text(f"# A\n\n{SECRET} in a document\n")
    ran("qmd", "collection", "add", documents, "--name", "d")
    ran("qmd", "update")
    try:
        ran("qmd", "daemon", "start")
        with serving(*at, "--token-file", token) as (_, url):
            told(url, "/remember", {"content": f"{SECRET} in a note"}, "sesame")
            assert SECRET in told(url, "/recall", {"query": SECRET}, "sesame")["results"][0]["snippet"]
            ours = [path for path in below(home / ".cache", home / ".config", mine) if path != token.parent]
            kinds = {stat.S_IFMT(path.lstat().st_mode) for path in ours}
            assert stat.S_IFSOCK in kinds
            endings = {"".join(path.suffixes) for path in ours}
            expected = {".sqlite3", ".sqlite3.snapshot", ".sqlite3.config.json", ".jsonl", ".jsonl.lock"}
            expected |= {".json", ".pi-rank.sqlite3", ".pi-rank.sock", ".pi-rank.daemon.log"}
            assert expected <= endings
            assert intruding([*ours, token]) == []
    finally:
        ran("qmd", "daemon", "stop", code=None)
    (ended,) = {stat.S_IMODE(path.stat().st_mode) for path in below(mine) if path.is_file()}
    assert ended == 0o600
    assert intruding(below(mine, home / ".cache", home / ".config")) == []


STORES = ["s.sqlite3", "s.sqlite3-wal", "s.sqlite3-shm", "s.sqlite3-journal", "s.sqlite3.snapshot"]
BESIDE = [
    "s.sqlite3.config.json",
    "notes.jsonl",
    "notes.jsonl.lock",
    "notes.jsonl.vectors",
    "notes.jsonl.torn",
]
KINDS = ["file", "link"]


@pytest.fixture
def shared(base):
    shared = base / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    return shared


def planted(kind, path, victim):
    """The other user's file, link or pipe at a path that it has guessed."""
    if kind == "file":
        path.touch()
        path.chmod(0o666)
    elif kind == "pipe":
        os.mkfifo(path, 0o666)
    else:
        path.symlink_to(victim)
    os.lchown(path, NOBODY, NOBODY)


def unharmed(path, victim):
    """Nothing of ours has gone where the other user can read it, and nothing through its link."""
    assert victim.read_text() == "important\n"
    if path.is_symlink() or not path.exists() or path.is_fifo():
        return
    if path.stat().st_uid == NOBODY:
        assert path.read_bytes() == b"", f"{path} was written to"


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in KINDS for name in (*STORES, *BESIDE, "recall-audit.jsonl")]
    + [("pipe", "s.sqlite3-wal"), ("pipe", "notes.jsonl"), ("pipe", "notes.jsonl.lock")],
)
def test_names_that_can_be_guessed_in_a_shared_folder(base, home, shared, name, kind):
    pytest.importorskip("uvicorn", reason="pi-rank[serve] is not installed")
    root = small_root(base / "root", SECRET)
    victim = base / "victim"
    victim.write_text("important\n")
    victim.chmod(0o600)
    path = shared / name
    planted(kind, path, victim)
    at = ("--root", root, "--store", shared / "s.sqlite3")
    with serving(*at) as (process, url):
        if url:
            told(url, "/remember", {"content": f"{SECRET} in a note"}, "")
        else:
            said = process.stderr.read()
            assert str(path) in said or str(shared) in said
            assert "Traceback" not in said
    unharmed(path, victim)


def test_another_users_store_is_not_believed(base, home, shared):
    root, forged = small_root(base / "root", "deploy mine"), small_root(base / "forged", "deploy forged")
    store = shared / "s.sqlite3"
    ran("sync", "--root", forged, "--store", store, "--model", "none")
    for path in shared.iterdir():
        os.chown(path, NOBODY, NOBODY)
        path.chmod(0o666)
    done = ran("search", "deploy", "--no-sync", "--root", root, "--store", store, "--model", "none", code=1)
    assert "was put there by another user" in done.stderr
    assert "forged" not in done.stdout


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "ending", ["sqlite3", "sqlite3-wal", "lock", "embed.lock", "daemon.lock", "daemon.log", "sock"]
)
def test_names_that_can_be_guessed_beside_an_index_in_a_shared_folder(base, home, shared, ending, kind):
    victim = base / "victim"
    victim.write_text("important\n")
    victim.chmod(0o600)
    path = shared / f"index.pi-rank.{ending}"
    planted(kind, path, victim)
    documents = home / "documents"
    documents.mkdir()
    (documents / "a.md").write_text(f"# A\n\n{SECRET} in a document\n")
    environment = {"INDEX_PATH": str(shared / "index.sqlite")}
    ran("qmd", "collection", "add", documents, "--name", "d", code=None, **environment)
    ran("qmd", "update", code=None, **environment)
    ran("qmd", "search", SECRET, code=None, **environment)
    try:
        ran("qmd", "daemon", "start", code=None, **environment)
    finally:
        ran("qmd", "daemon", "stop", code=None, **environment)
    unharmed(path, victim)


def test_the_tests_other_user_can_do_what_others_can(base):
    """That nothing is reached above is worth as much as this."""
    (base / "open").mkdir(mode=0o777)
    (base / "open").chmod(0o777)
    (base / "open/file").write_text("x")
    (base / "open/file").chmod(0o666)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(base / "open/sock"))
        (base / "open/sock").chmod(0o777)
        listener.listen()
        done = intruding([base / "open", base / "open/file", base / "open/sock"])
    assert {what for what, _ in done} == {"read", "list", "write", "add", "remove", "connect"}
