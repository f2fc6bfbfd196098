"""The warm process: one for a user and an installation, its owner's alone.

And no loss when it is not there.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pi_rank.daemon import client, process
from pi_rank.daemon.client import socket_path
from tests.daemon.conftest import PACKAGE, until

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no Unix sockets")
EVENT = {"hook_event_name": "UserPromptSubmit", "prompt": "How do we deploy orchard?", "cwd": "/orchard-api"}


@pytest.fixture
def stopped(user):
    """Nobody runs, before and after."""
    process.stop(user.socket)
    yield user
    process.stop(user.socket)


def test_commands_work_without_one_and_start_none(stopped):
    ran = stopped.run("context", "How do we deploy?")
    assert ran.code == 0
    assert ran.out.startswith(b"# Persistent")
    assert stopped.pid is None
    assert stopped.run("daemon", "status").out == b"not running\n"


def test_a_hook_starts_one_and_the_beginning_of_a_session_too(stopped):
    assert stopped.run("hook", "claude-code", "--no-daemon", stdin=json.dumps(EVENT).encode()).err == b""
    assert stopped.pid is None
    for event in (EVENT, {**EVENT, "hook_event_name": "SessionStart"}):
        ran = stopped.run("hook", "claude-code", "--deadline-ms", "60000", stdin=json.dumps(event).encode())
        assert (ran.code, ran.err) == (0, b"")
        until(lambda: stopped.ask("search", "deploy").code == 0)
        assert process.stop(stopped.socket)


def test_the_daemon_does_not_keep_the_agents_environment(stopped):
    stopped.run(
        "hook", "pi", stdin=json.dumps({"hook_event_name": "session_start"}).encode(), API_KEY="secret"
    )
    until(lambda: stopped.pid)
    assert b"secret" not in Path(f"/proc/{stopped.pid}/environ").read_bytes()


def test_two_that_start_at_once_are_one(stopped):
    launch = [sys.executable, "-I", "-S", str(PACKAGE / "launch.py"), "daemon", "serve"]
    started = [
        subprocess.Popen(launch, env=stopped.environment, cwd="/", stderr=subprocess.PIPE) for _ in range(3)
    ]
    until(lambda: sum(child.poll() is not None for child in started) == 2)
    until(lambda: stopped.ask("search", "deploy").code == 0)
    ended = [child for child in started if child.poll() is not None]
    assert all(child.returncode == 0 and b"already running" in child.stderr.read() for child in ended)
    assert process.stop(stopped.socket)
    for child in started:
        assert child.wait(20) == 0
        child.stderr.close()


def test_after_a_crash_another_takes_its_place(stopped):
    stopped.run("daemon", "start")
    pid = stopped.pid
    os.kill(pid, signal.SIGKILL)
    until(lambda: stopped.pid is None)
    assert stopped.socket.exists(), "a stale socket stays behind"
    assert stopped.run("search", "deploy").code == 0
    assert stopped.run("daemon", "start").code == 0
    assert stopped.pid not in (None, pid)
    assert stopped.ask("search", "deploy").code == 0


def test_socket_and_folder_are_the_owners_alone(stopped):
    stopped.socket.parent.mkdir(parents=True, exist_ok=True)
    stopped.socket.parent.chmod(0o777)
    stopped.run("daemon", "start")
    assert stat.S_IMODE(stopped.socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(stopped.socket.parent.stat().st_mode) == 0o700


def test_it_ends_when_idle_and_when_its_socket_is_taken(stopped):
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); import pi_rank.cli.commands.daemon as d; "
    code += (
        "d.options.whole_number = lambda least: float; from pi_rank.cli.program import main; sys.exit(main())"
    )
    words = ["daemon", "serve", "--idle-minutes", "0.02"]
    child = subprocess.run(
        [sys.executable, "-c", code, str(PACKAGE.parent), *words],
        env=stopped.environment,
        cwd="/",
        timeout=60,
    )
    assert child.returncode == 0
    assert not stopped.socket.exists()
    stopped.run("daemon", "start")
    stopped.socket.unlink()
    until(lambda: stopped.pid is None)


def test_an_upgrade_restarts_it(stopped, tmp_path):
    copy = tmp_path / "installed" / "pi_rank"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    if not (copy / "models").exists():  # in a checkout they lie beside the package
        shutil.copytree(PACKAGE.parent / "models", copy.parent / "models")
    launch = [sys.executable, "-I", "-S", str(copy / "launch.py")]
    lines = subprocess.run(
        [*launch, "daemon", "start", "--json"], env=stopped.environment, capture_output=True
    )
    started = json.loads(lines.stdout)
    path = Path(started["socket"])
    assert path != stopped.socket, "each installation has one of its own"
    try:
        before = path.stat().st_ctime_ns
        (copy / "cli" / "program.py").touch()
        until(lambda: path.exists() and path.stat().st_ctime_ns != before)
        assert process.running(path) == started["running"], "the same process, anew"
    finally:
        process.stop(path)


def test_a_daemon_that_hangs_costs_no_more_than_its_share(stopped):
    stopped.socket.parent.mkdir(parents=True, exist_ok=True)
    stopped.socket.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(stopped.socket))
        listener.listen(4)
        began = time.monotonic()
        assert stopped.ask("search", "deploy").code == 99
        assert time.monotonic() - began < client.CONNECT_SECONDS + 1.0
        assert stopped.run("search", "deploy").code == 0
        ran = stopped.run("hook", "pi", "--deadline-ms", "100", stdin=json.dumps(EVENT).encode())
        assert ran == (0, b"", b"")
    stopped.socket.unlink()


def test_a_daemon_that_is_busy_leaves_it_to_the_client(stopped):
    stopped.run("daemon", "start")
    until(lambda: stopped.ask("search", "deploy").code == 0)
    os.kill(stopped.pid, signal.SIGSTOP)
    try:
        assert stopped.run("search", "deploy").code == 0
    finally:
        os.kill(stopped.pid, signal.SIGCONT)


def test_clients_that_come_and_go(stopped):
    stopped.run("daemon", "start")
    whole = client._request(["search", "deploy"], stopped.environment, time.monotonic())
    for data in (
        b"",
        b"pi-rank",
        client.PROTOCOL,
        b"pi-rank-daemon 0\n" + b"x" * 99,
        whole[:40],
        b"\xff" * 100_000,
    ):
        line = socket.socket(socket.AF_UNIX)
        line.connect(str(stopped.socket))
        line.sendall(data)
        line.close()
    with socket.socket(socket.AF_UNIX) as line:  # a request without its folder
        line.connect(str(stopped.socket))
        line.sendall(whole)
        line.shutdown(socket.SHUT_WR)
        assert line.recv(9) == client.ELSEWHERE
    assert stopped.ask("search", "deploy").code == 0
    assert len(list(Path(f"/proc/{stopped.pid}/fd").iterdir())) < 40


def test_many_at_once(stopped):
    stopped.run("daemon", "start")
    until(lambda: stopped.ask("search", "deploy").code == 0)
    launch = [sys.executable, "-I", "-S", str(PACKAGE / "launch.py"), "search", "deploy", "--json"]
    children = [
        subprocess.Popen(launch, env=stopped.environment, cwd=stopped.folder, stdout=subprocess.PIPE)
        for _ in range(12)
    ]
    answers = {child.communicate(timeout=60)[0] for child in children}
    assert len(answers) == 1
    assert all(child.returncode == 0 for child in children)


def test_a_reader_that_goes_away_is_no_error(stopped):
    stopped.run("daemon", "start")
    line = f"{sys.executable} -I -S {PACKAGE / 'launch.py'} context 'How do we deploy?' | true"
    done = subprocess.run(
        ["sh", "-c", line], env=stopped.environment, cwd=stopped.folder, capture_output=True
    )
    assert b"Traceback" not in done.stderr


def test_asking_imports_neither_numpy_nor_the_engine(stopped):
    stopped.run("daemon", "start")
    until(lambda: stopped.ask("search", "deploy").code == 0)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", str(PACKAGE / "launch.py"), "search", "deploy"],
        env=stopped.environment,
        cwd=stopped.folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "import time" in line}
    assert {name for name in imported if name.startswith("pi_rank")} == {
        "pi_rank",
        "pi_rank.version",
        "pi_rank.daemon",
        "pi_rank.daemon.client",
    }
    assert not {"numpy", "msgspec", "argparse", "typing", "re", "os", "site", "sqlite3"} & imported


def test_where_its_socket_is():
    home = {"HOME": "/home/u"}
    path = socket_path(home)
    if sys.platform != "darwin":
        assert path.startswith("/home/u/.cache/pi-rank/daemon/")
    assert socket_path({**home, "PI_RANK_CACHE_DIR": "/c"}).startswith("/c/daemon/")
    assert socket_path({**home, "PI_RANK_CACHE_DIR": "c"}) is None
    assert socket_path({**home, "XDG_CACHE_HOME": "/" + "d" * 100}) is None
    assert socket_path({}) is None


def test_a_path_that_no_socket_can_have(stopped):
    ran = stopped.run("daemon", "start", PI_RANK_CACHE_DIR="/tmp/" + "d" * 100)
    assert ran.code == 1
    assert b"too long" in ran.err
    assert stopped.run("daemon", "start", PI_RANK_DAEMON="off").code == 1
