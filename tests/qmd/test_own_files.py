"""Files of ours at predictable names: no link followed, no other user believed, no other user let in."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import time

import pytest

from pi_rank.files.locks import exclusive
from pi_rank.qmd import launcher
from pi_rank.qmd.paths import places

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and owners as POSIX has them")
TEXT = "important\n" * 10


def test_a_lock_that_is_a_link_leaves_the_file_alone(world):
    victim = world.write("victim.txt", TEXT)
    lock = places(world.environment).daemon_lock
    lock.parent.mkdir(parents=True)
    lock.symlink_to(victim)
    with pytest.raises(OSError, match="is a link"), exclusive(lock):
        pytest.fail("the lock was taken")
    ran = world.qmd("serve-daemon")
    assert ran.code == 1 and "is a link" in ran.err
    assert victim.read_text(encoding="utf-8") == TEXT


def test_a_log_a_configuration_and_an_index_that_are_links(world):
    where = places(world.environment)
    victim = world.write("victim.txt", TEXT)
    where.log.parent.mkdir(parents=True)
    where.log.symlink_to(victim)
    ran = world.qmd("daemon", "start")
    assert ran.code == 1 and "is a link" in ran.err
    where.database.symlink_to(victim)
    world.documents()
    ran = world.qmd("collection", "add", str(world.home / "docs"), "--name", "c")
    assert ran.code == 1 and "is a link" in ran.err
    # The name of the file that the configuration is written to before it takes its place can be guessed.
    guessed = where.config.with_suffix(f".{os.getpid()}.tmp")
    guessed.symlink_to(victim)
    world.ok("context", "add", "/", "All notes")
    assert victim.read_text(encoding="utf-8") == TEXT


def test_nobody_else_reads_index_and_configuration(world):
    folder = world.home / "cache" / "qmd"
    folder.mkdir(parents=True, mode=0o755)  # as the real qmd makes it
    world.ok("collection", "add", str(world.documents()), "--name", "c")
    world.ok("search", "deploy")
    files = [*folder.iterdir(), *(world.home / "config" / "qmd").iterdir()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


IMPOSTOR = """
import os, socket, sys
os.setgid(65534); os.setuid(65534)
listener = socket.socket(socket.AF_UNIX); listener.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o777)
listener.listen()
while True:
    line, _ = listener.accept()
    while line.recv(65536): pass
    body = b'{"results": [{"path": "memory/mem_evil.md", "id": "mem_evil"}]}'
    line.sendall(b"%b" + bytes([0]) + len(body).to_bytes(4, "big") + bytes(4) + body); line.close()
"""


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root can act for another user")
def test_another_users_socket_is_not_believed(world):
    """INDEX_PATH in a folder where everybody may write: who comes first makes the socket."""
    shared = world.home / "shared"
    shared.mkdir()
    for folder in (shared, *shared.parents[: len(shared.parts) - 2]):
        folder.chmod(0o1777 if folder == shared else folder.stat().st_mode | 0o011)
    path = shared / "index.pi-rank.sock"
    code = IMPOSTOR.replace('b"%b"', repr(launcher.MAGIC))
    impostor = subprocess.Popen([sys.executable, "-c", code, str(path)])
    try:
        deadline = time.monotonic() + 20
        while not path.exists() or stat.S_IMODE(path.stat().st_mode) != 0o777:
            assert time.monotonic() < deadline and impostor.poll() is None
            time.sleep(0.02)
        time.sleep(0.1)
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(path))  # it does listen
        request = launcher.request_bytes(["search", "x"], "/", {})
        assert launcher.ask(str(path), request, 5.0) is None
    finally:
        impostor.kill()
        impostor.wait()
