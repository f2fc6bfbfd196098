"""The executable `qmd`: works from anywhere, and is the only file that it ever replaces or removes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pi_rank.qmd.commands import shim

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the shim is for POSIX systems")


def run(world, path, *argv):
    environment = {key: value for key, value in world.environment.items() if key != "PYTHONPATH"}
    return subprocess.run([path, *argv], env=environment, cwd="/", capture_output=True, text=True, timeout=60)


def test_it_runs_without_pythonpath_from_anywhere(world):
    world.ok("collection", "add", str(world.documents()), "--name", "c")
    out = world.ok("install-shim", str(world.home / "bin"))
    assert "first on your PATH" in out
    done = run(world, world.home / "bin" / "qmd", "search", "--files", "deploy", "friday")
    assert (done.returncode, done.stdout) == (0, world.ok("search", "--files", "deploy", "friday"))
    assert run(world, world.home / "bin" / "qmd", "search", "-c", "x", "y").returncode == 1
    assert run(world, world.home / "bin" / "qmd", "--version").stdout.startswith("qmd ")


def test_it_replaces_and_removes_itself_only(world):
    folder = str(world.home / "bin")
    path = world.write("bin/qmd", "#!/bin/sh\necho the real one\n")
    for argv in (["install-shim", folder], ["install-shim", folder, "--uninstall"]):
        ran = world.qmd(*argv)
        assert ran.code == 1 and "was not written by pi-rank" in ran.err
    assert "the real one" in path.read_text(encoding="utf-8")
    path.unlink()
    path.symlink_to(world.write("elsewhere/qmd", f"{shim.MARK}\n"))
    assert world.qmd("install-shim", folder).code == 1, "a link may lead to another's file"
    path.unlink()
    world.ok("install-shim", folder)
    world.ok("install-shim", folder)
    assert [file.name for file in (world.home / "bin").iterdir()] == ["qmd"]
    world.ok("install-shim", folder, "--uninstall")
    assert list((world.home / "bin").iterdir()) == []


def test_a_python_whose_path_has_a_space(world):
    link = world.home / "a python" / "python3"
    link.parent.mkdir()
    link.symlink_to(sys.executable)
    path = world.write("bin/qmd", shim.program(str(link)))
    path.chmod(0o755)
    done = run(world, path, "--version")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_package_that_has_moved(world):
    text = shim.program(sys.executable).replace(
        str(shim.Path(shim.__file__).parents[1]), str(world.home / "gone")
    )
    path = world.write("bin/qmd", text)
    path.chmod(0o755)
    done = run(world, path, "search", "x")
    assert done.returncode == 1 and done.stdout == ""
    assert "pi-rank has moved" in done.stderr


def test_the_folder_cannot_be_written(world):
    world.write("file", "")
    ran = world.qmd("install-shim", str(world.home / "file" / "bin"))
    assert ran.code == 1 and "cannot be written" in ran.err
