"""The daemon: one for an index, answers only what is its own, and leaves nothing that harms its successor."""

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
from contextlib import contextmanager
from pathlib import Path

import pytest

from pi_rank.files.locks import exclusive, holder, is_held
from pi_rank.qmd import launcher
from pi_rank.qmd.daemon import packed, unpacked
from pi_rank.qmd.paths import places
from pi_rank.serving.program import Program
from tests.support.memory import write_root

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no Unix sockets")
PACKAGE = Path(launcher.__file__).parents[2]


@pytest.fixture
def home(world):
    """A world with documents, and the variables that its processes see."""
    world.environment.pop("PI_RANK_QMD_DAEMON")
    world.environment["PYTHONPATH"] = str(PACKAGE)
    world.ok("collection", "add", str(world.documents()), "--name", "c")
    return world


def process(world, *argv, code="from pi_rank.qmd.command import main", **environment):
    """A command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; sys.exit(main())", *argv],
        env={**world.environment, **environment},
        cwd=world.home,
        capture_output=True,
        text=True,
        timeout=60,
    )


def ask(world, *argv, **environment):
    """What the daemon answers, or None."""
    where = places(world.environment)
    known = {**world.environment, **environment}
    return launcher.ask(str(where.socket), launcher.request_bytes(list(argv), str(world.home), known), 5.0)


@contextmanager
def running(world, *options):
    """A daemon, stopped at the end whatever happens."""
    started = process(world, "daemon", "start", *options)
    assert started.returncode == 0, started
    try:
        yield holder(places(world.environment).daemon_lock)
    finally:
        process(world, "daemon", "stop")
        assert not is_held(places(world.environment).daemon_lock)


def until(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)


def test_it_answers_as_the_command_does(home):
    commands = [
        ["search", "--json", "deploy", "friday"],
        ["get", "#b34e8f"],
        ["multi-get", "*.md", "--json"],
        ["ls", "c"],
        ["search", "-c", "nope", "x"],
        ["search", "--no-flag", "ruff"],
    ]
    cold = [home.qmd(*argv) for argv in commands]
    with running(home):
        warm = [ask(home, *argv) for argv in commands]
    assert [(code, out.decode(), err.decode()) for code, out, err in warm] == cold


def test_pi_rank_asks_it_as_the_shim_does(home):
    """The three ways to call qmd give one answer, by meaning, with nothing to say on stderr."""
    home.ok("update")
    home.ok("install-shim", str(home.home / "bin"))
    query = ["vsearch", "--files", "-n", "3", "how do I undo a release that fails?"]
    cli = "from pi_rank.cli import main; sys.argv[1:1] = ['qmd']"
    with running(home):
        until(lambda: ask(home, *query)[2] == b"", 60)
        code, out, _ = ask(home, *query)
        shim = subprocess.run(
            [home.home / "bin" / "qmd", *query],
            env=home.environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        started = time.perf_counter()
        answered = process(home, *query, code=cli)
        took = time.perf_counter() - started
        assert (answered.returncode, answered.stdout, answered.stderr) == (code, out.decode(), "")
        assert (shim.returncode, shim.stdout, shim.stderr) == (code, out.decode(), "")
        assert "alpha.md" in answered.stdout.splitlines()[0]
        started = time.perf_counter()
        process(home, "--wait", *query, code=cli)
        assert took < time.perf_counter() - started, "the model was not loaded for it"


def test_whatever_is_added_gets_embedded(home):
    """PI adds its memory root and then only searches; nobody calls `update` or `embed`."""
    records = [{"id": "mem_deploy", "statement": "Never deploy on Friday."}]
    records += [
        {"id": f"mem_{n}", "statement": f"Note {n}: rotate the cache of worker {n}."} for n in range(40)
    ]
    with running(home):
        root = write_root(home.home / "root", records)
        assert process(home, "collection", "add", str(root), "--name", "pi").returncode == 0
        query = ["vsearch", "--json", "-c", "pi", "-n", "3", "shipping to production at the weekend"]
        until(lambda: ask(home, *query)[2] == b"", 120)
        assert json.loads(ask(home, *query)[1])["results"][0]["id"] == "mem_deploy"
        assert b"Pending" not in ask(home, "status")[1], "the documents that were there are embedded too"


def test_what_waits_for_a_daemon_is_embedded_once_it_runs(home):
    """And a run that the daemon began ends with it."""
    for number in range(300):
        home.write(f"docs/n{number}.md", f"# Note {number}\n\nNumber {number} is at rest.\n")
    home.qmd("collection", "remove", "c")
    home.ok("collection", "add", str(home.home / "docs"), "--name", "c")
    assert "need embedding" in home.ok("status")
    with running(home):
        until(lambda: is_held(places(home.environment).embed_lock), 60)
    assert not is_held(places(home.environment).embed_lock)
    with running(home):
        until(lambda: "Pending" not in home.ok("status"), 240)


def test_starting_and_stopping_it_warns_of_nothing(home):
    """Python's own warnings are shown by `pi-rank`: of a process that still runs, for one."""
    cli = "from pi_rank.cli import main; sys.argv[1:1] = ['qmd']"
    for argv in (["daemon", "start"], ["daemon", "status"], ["daemon", "start"], ["daemon", "stop"]):
        ran = process(home, *argv, code=cli)
        assert (ran.returncode, ran.stderr) == (0, ""), argv
    try:
        ran = process(home, "search", "--files", "deploy", code=cli, PI_RANK_QMD_DAEMON="auto")
        assert (ran.returncode, ran.stderr) == (0, "")
    finally:
        until(lambda: is_held(places(home.environment).daemon_lock), 60)
        process(home, "daemon", "stop", code=cli)


def test_what_it_leaves_to_the_caller(home):
    with running(home):
        assert ask(home, "search", "deploy") is not None
        assert ask(home, "update") is None
        assert ask(home, "collection", "remove", "c") is None
        assert ask(home, "search", "--wait", "x") is None
        assert ask(home, "search", "--index", "other", "x") is None
        assert ask(home, "search", "x", XDG_CONFIG_HOME="/elsewhere") is None
        path = str(places(home.environment).socket)
        assert launcher.ask(path, b"pi-rank-qmd 0\nping") is None
        assert launcher.ask(path, b"") is None
        assert ask(home, "search", "deploy") is not None, "and it goes on"
    assert home.ok("collection", "list").startswith("Collections (1)")


def test_the_socket_is_the_owners_alone(home):
    with running(home):
        path = places(home.environment).socket
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) & 0o022 == 0


def test_there_is_one_for_an_index(home):
    with running(home) as pid:
        again = process(home, "daemon", "start")
        assert again.stdout == f"Already running (PID {pid})\n"
        second = process(home, "serve-daemon")
        assert second.returncode == 1 and f"Already running (PID {pid})" in second.stderr
        assert ask(home, "search", "deploy") is not None, "the first one still has its socket"
        assert f"running (PID {pid})" in process(home, "daemon", "status").stdout


def test_after_a_crash(home):
    where = places(home.environment)
    with running(home) as pid:
        os.kill(pid, signal.SIGKILL)
        until(lambda: not is_held(where.daemon_lock))
        assert where.socket.exists(), "a stale socket stays behind"
        assert process(home, "daemon", "status").stdout == "Not running\n"
        assert ask(home, "search", "deploy") is None
        with running(home) as second:
            assert second != pid
            assert ask(home, "search", "deploy") is not None


def test_it_ends_when_idle_and_when_its_socket_is_taken(home):
    where = places(home.environment)
    code = "from pi_rank.qmd import daemon; daemon.IDLE_MINUTES = 0.02; from pi_rank.qmd.command import main"
    child = subprocess.Popen(
        [sys.executable, "-c", f"import sys; {code}; sys.exit(main())", "serve-daemon"],
        env=home.environment,
        stderr=subprocess.PIPE,
    )
    assert child.wait(30) == 0, child.stderr.read()
    child.stderr.close()
    assert not where.socket.exists()
    with running(home) as pid:
        where.socket.unlink()
        until(lambda: not is_held(where.daemon_lock))
        assert pid


def test_an_upgrade_restarts_it(home, tmp_path):
    copy = tmp_path / "installed"
    shutil.copytree(PACKAGE / "pi_rank", copy / "pi_rank", ignore=shutil.ignore_patterns("__pycache__"))
    if not (copy / "pi_rank" / "models").exists():  # in a checkout they lie beside the package
        shutil.copytree(PACKAGE / "models", copy / "models", ignore=shutil.ignore_patterns("*.bin"))
    home.environment["PYTHONPATH"] = str(copy)
    where = places(home.environment)
    with running(home):
        assert ask(home, "search", "deploy") is not None
        before = where.socket.stat().st_ctime_ns
        (copy / "pi_rank" / "qmd" / "command.py").touch()
        until(lambda: where.socket.exists() and where.socket.stat().st_ctime_ns != before)
        until(lambda: ask(home, "search", "deploy") is not None)


def test_a_file_seen_later_is_no_upgrade():
    program = Program()
    assert not program.changed()
    import pi_rank.qmd.mcp.schemas  # noqa: F401  (a module that nothing else here loads)

    assert not program.changed()


def test_on_demand(home):
    where = places(home.environment)
    assert process(home, "search", "deploy").returncode == 0
    assert not is_held(where.daemon_lock), "nobody asked for one"
    try:
        first = process(home, "search", "--json", "deploy", PI_RANK_QMD_DAEMON="auto")
        assert len(json.loads(first.stdout)) == 3
        until(lambda: ask(home, "search", "deploy") is not None)
    finally:
        process(home, "daemon", "stop")
    with running(home, "--on-demand"):
        pass
    assert 'daemon_on_demand": false' in (home.home / "config/qmd/index.pi-rank.json").read_text(
        encoding="utf-8"
    )


def test_a_daemon_that_hangs_costs_no_more_than_its_share(home):
    where = places(home.environment)
    where.socket.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(where.socket))
        listener.listen(1)
        started = time.monotonic()
        request = launcher.request_bytes(["search", "x"], "/", {})
        assert launcher.ask(str(where.socket), request) is None
        assert time.monotonic() - started < 2 * launcher.PATIENCE_SECONDS
    where.socket.unlink()


def test_clients_that_come_and_go(home):
    """Half requests, and clients that do not wait for the answer, cost the others nothing."""
    with running(home):
        path = str(places(home.environment).socket)
        for data in (
            b"",
            b"pi-rank",
            launcher.MAGIC,
            launcher.MAGIC + b"/\0notanumber\0search\0x",
            b"\xff" * 100_000,
        ):
            line = socket.socket(socket.AF_UNIX)
            line.connect(path)
            line.sendall(data)
            line.close()
        assert ask(home, "search", "deploy") is not None


def test_a_reader_that_goes_away_is_no_error(home):
    home.ok("install-shim", str(home.home / "bin"))
    home.write("docs/long.md", "# Long\n\n" + "deploy friday\n" * 50_000)
    home.ok("update")
    with running(home):
        shim = subprocess.Popen(
            [home.home / "bin" / "qmd", "search", "--json", "--full", "deploy", "friday"],
            env=home.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert shim.stdout.read(2) == b"[\n"
        shim.stdout.close()
        assert shim.stderr.read() == b""
        shim.stderr.close()
        assert shim.wait(20) == launcher.PIPE_CLOSED


def test_packing():
    data = launcher.request_bytes(
        ["search", "a b", "-n", "5", "\udcff"], "/x y", {"HOME": "/h", "OTHER": "no"}
    )
    request = unpacked(data)
    assert request == ("/x y", {"HOME": "/h"}, ["search", "a b", "-n", "5", "\udcff"])
    assert launcher._reply(packed(1, "out é", "err")) == (1, "out é".encode(), b"err")
    assert launcher._reply(packed(0, "cut off", "")[:-1]) is None
    assert launcher._reply(packed(launcher.TRY_ELSEWHERE, "", "")) is None
    assert launcher._reply(b"HTTP/1.1 400") is None
    assert unpacked(launcher.request_bytes(["update"], "/", {})) is None


@pytest.mark.parametrize("rest", [b"", b"/tmp", b"/tmp\0", b"\xff\0" * 9, b"ping"])
def test_what_is_no_request_is_not_answered(rest):
    assert unpacked(launcher.MAGIC + rest) is None


@pytest.mark.parametrize("count", ["", "-1", "x", "²", "9" * 5_000])
def test_a_count_that_is_none_names_no_variables(count):
    request = unpacked(launcher.MAGIC + f"/tmp\0{count}\0search\0x".encode())
    assert request is None or request.environment == {}


def test_a_path_that_no_socket_can_have(home, tmp_path):
    deep = tmp_path / ("d" * 90) / "qmd.sqlite"
    ran = process(home, "daemon", "start", INDEX_PATH=str(deep))
    assert ran.returncode == 1
    assert process(home, "status", INDEX_PATH=str(deep)).returncode == 0
    with exclusive(tmp_path / "unrelated"):
        assert launcher.ask(str(deep), b"") is None
