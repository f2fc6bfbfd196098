"""What our commands do outside their own folders, as the kernel sees it: no name looked up, no file."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

import pi_rank

SAMPLE = Path(pi_rank.__file__).parent / "sample"
STRACE = shutil.which("strace")
# Name look-ups of glibc begin with the first two; a socket of any other family could leave the machine.
LOOKUP_FILES = ("/etc/resolv.conf", "/etc/hosts", "/nscd/socket")
HARMLESS_FAMILIES = {"AF_UNIX"}
# A telemetry queue that has been seen was first sent 9 seconds after the model was loaded.
DAEMON_SECONDS = 12.0
WORDS = ("deploy", "friday")


class House:
    """A user's home with a memory and notes. What runs in it is traced, and sees no other environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.home = folder / "home"
        self.root = folder / "memory"
        self.notes = folder / "notes"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "USERPROFILE": str(self.home),
            "TMPDIR": str(folder / "tmp"),
        }
        for kind in ("CACHE", "CONFIG", "DATA", "STATE"):
            self.environment[f"XDG_{kind}_HOME"] = str(self.home / kind.lower())
        for made in (self.home, self.notes, folder / "tmp"):
            made.mkdir()
        shutil.copytree(SAMPLE, self.root)
        (self.notes / "deploys.md").write_text("# Deploys\n\nNever deploy on a Friday.\n", encoding="utf-8")

    def begin(self, *argv: str) -> subprocess.Popen[str]:
        """Starts a command of ours, under strace where there is one."""
        return self.begin_python("-m", "pi_rank.cli", *argv)

    def begin_python(self, *argv: str) -> subprocess.Popen[str]:
        """Starts this Python."""
        trace = self.folder / f"{len(self.traces())}.trace"
        calls = "trace=socket,connect,sendto,openat,open,creat,mkdir,mkdirat,rename,renameat,renameat2"
        tracer = (
            [STRACE, "-f", "--seccomp-bpf", "-qq", "-y", "-s", "300", "-o", str(trace), "-e", calls]
            if STRACE
            else []
        )
        return subprocess.Popen(
            [*tracer, sys.executable, *argv],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *argv: str) -> str:
        """What a command that succeeds prints."""
        return self.end(self.begin(*argv))

    def end(self, started: subprocess.Popen[str]) -> str:
        """What a command that was begun prints, once it has succeeded."""
        out, _ = started.communicate(timeout=120)
        assert started.returncode == 0, out
        return out

    def traces(self) -> list[Path]:
        """One file for each command that was begun."""
        return sorted(self.folder.glob("*.trace"))

    def files(self) -> set[str]:
        """Every file below the home folder."""
        return {path.relative_to(self.home).as_posix() for path in self.home.rglob("*") if path.is_file()}


@pytest.fixture
def house(tmp_path):
    return House(tmp_path / "h")


def outside(lines, folder):
    """Lines of a trace that look up a name, open a socket to another machine, or write outside `folder`."""
    return [line for line in lines if reaches_out(line) or any(not within(p, folder) for p in written(line))]


def reaches_out(line):
    """Whether it looks up a name, or makes a socket that could leave the machine."""
    family = re.search(r"\bsocket\((\w+)", line)
    return (family and family[1] not in HARMLESS_FAMILIES) or any(name in line for name in LOOKUP_FILES)


def written(line):
    """Paths that it makes, moves or opens for writing; without Python's own cache of compiled modules."""
    opened = re.search(r"\b(?:openat|open|creat)\(.*(?:O_WRONLY|O_RDWR|O_CREAT|creat\().* = \d+<(.*)>$", line)
    changed = re.search(r"\b(?:mkdir|rename)\w*\(.* = 0$", line)
    paths = [opened[1]] if opened else re.findall(r'"([^"]*)"', line) if changed else []
    return [path for path in paths if "/__pycache__" not in path]


def within(path, folder):
    """Whether the path, relative to the folder or not, is below it; so is what throws everything away."""
    return path == os.devnull or Path(os.path.normpath(folder / path)).is_relative_to(folder)


def touched(house):
    """What all commands begun so far did outside."""
    lines = [line for trace in house.traces() for line in trace.read_text(errors="replace").splitlines()]
    return outside(lines, house.folder)


def days_work(house):
    """Each part that loads a model or keeps something: demo, sync, turns, doctor, qmd cold and warm."""
    house.run("qmd", "collection", "add", str(house.notes), "--name", "notes")
    house.run("qmd", "update")
    house.run("qmd", "install-shim", "bin")
    daemon = house.begin("qmd", "daemon", "start")
    started = time.monotonic()
    assert "Hard Rules" in house.run("demo")
    house.run("sync", "--root", str(house.root))
    assert "Hard Rules" in house.run("context", " ".join(WORDS), "--root", str(house.root))
    assert "in order" in house.run("doctor", "--root", str(house.root))
    vsearch = ("bin/qmd", "vsearch", *WORDS, "--explain", "--json")
    while "semantic" not in (warm := house.end(house.begin_python(*vsearch))):
        assert daemon.poll() is None, daemon.communicate()
        assert time.monotonic() < started + 60, warm
    time.sleep(max(0.0, started + DAEMON_SECONDS - time.monotonic()))
    house.run("qmd", "daemon", "stop")
    house.end(daemon)


def test_nothing_goes_outside(house):
    before = {path.name: path.read_bytes() for path in house.root.rglob("*") if path.is_file()}
    days_work(house)
    ours = ("cache/pi-rank/", "cache/qmd/", "config/qmd/")
    assert [name for name in sorted(house.files()) if not name.startswith(ours)] == []
    assert {path.name: path.read_bytes() for path in house.root.rglob("*") if path.is_file()} == before
    if STRACE is None:
        pytest.skip(
            "no strace: files were compared, sockets and names could not be seen (apt install strace)"
        )
    assert touched(house) == []


@pytest.mark.skipif(STRACE is None, reason="needs strace (apt install strace)")
@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.getaddrinfo('pi-rank.invalid', 80)",
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
        "import os; open(os.path.expanduser('~/../../stray'), 'w')",
        "import os; os.mkdir(os.path.expanduser('~/../../stray'))",
    ],
)
def test_the_tracer_sees_it(house, code):
    house.begin_python("-c", code).communicate(timeout=60)
    assert touched(house)


@pytest.mark.skipif(find_spec("onnxruntime") is None, reason="onnxruntime is not installed")
def test_an_onnxruntime_that_is_imported_keeps_no_device_id(house):
    code = "from pi_rank.embedding.runtime import import_onnxruntime; print(import_onnxruntime().__name__)"
    house.environment["ORT_DISABLE_TELEMETRY"] = "0"
    assert house.end(house.begin_python("-c", code)) == "onnxruntime\n"
    assert house.files() == set()
