"""The qmd daemon's socket: requests that are none, half ones, silent ones, and those that are answered."""

from __future__ import annotations

import socket

from pi_rank.qmd import launcher
from pi_rank.qmd.paths import places
from tests.campaign.corpus import as_bytes, as_text
from tests.campaign.door import Door
from tests.campaign.doors.qmd import FILES, NUMBERS, PATTERNS, QUERIES
from tests.campaign.qmd_world import Served, check_answer
from tests.campaign.values import damage, text

ANSWER_SECONDS = 30.0


class Daemon(Door):
    """One daemon; a case is a few connections, some of which stay open."""

    deadline = 60.0

    @classmethod
    def missing(cls):
        return "" if hasattr(socket, "AF_UNIX") else "no Unix sockets"

    def __init__(self, folder):
        super().__init__(folder)
        self._served = Served(folder, "serve-daemon")
        self._path = str(places(self._served.world.environment).socket)
        self._served.until(lambda: self._ask(b"") is not None)

    def close(self):
        self._served.close()

    def make(self, chance):
        return {
            "requests": [as_text(_request(chance)) for _ in range(chance.randint(1, 8))],
            "silent": chance.randrange(4),
        }

    def run(self, case, trial):
        since = self._served.logged()
        silent = [self._connect() for _ in range(min(int(case.get("silent") or 0), 5))]
        for request in case.get("requests", []):
            trial.inputs += 1
            data = self._in_this_world(as_bytes(str(request)))
            answer = self._ask(data)
            trial.check(answer is not None, "no answer", ascii(data[:300]))
            check_answer(trial, (answer or b"").decode("utf-8", "replace"), data.decode("utf-8", "replace"))
        answer = self._ask(
            self._in_this_world(launcher.MAGIC + b"DIRECTORY\x000\x00ENVIRONMENT\x00search\x00deploy")
        )
        trial.check(
            (answer or b"").startswith(launcher.MAGIC), "the daemon is not well", ascii((answer or b"")[:200])
        )
        for line in silent:
            line.close()
        self._served.check(trial, since)

    def _in_this_world(self, data):
        """Requests name the folder and the variables of whoever asks: here those of this daemon."""
        known = self._served.world.environment
        said = [f"{name}={known[name]}" for name in launcher.VARIABLES if name in known]
        head = b"\x00".join(
            [str(self._served.home).encode(), str(len(said)).encode(), *(s.encode() for s in said)]
        )
        return data.replace(b"DIRECTORY\x000\x00ENVIRONMENT", head)

    def _connect(self):
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        line.settimeout(ANSWER_SECONDS)
        line.connect(self._path)
        return line

    def _ask(self, data):
        try:
            with self._connect() as line:
                try:
                    line.sendall(data)
                    line.shutdown(socket.SHUT_WR)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # it has heard enough
                answer = b""
                while part := line.recv(1 << 16):
                    answer += part
                return answer
        except ConnectionResetError:
            return b""
        except OSError:
            return None


def _request(chance):
    query = chance.choice([*QUERIES, text(chance)])
    words = chance.choice(
        [
            ["search", query, "--json"],
            ["search", query, "-n", chance.choice(NUMBERS)],
            ["search", query, "--index", "../../x"],
            ["query", query],
            ["get", chance.choice(FILES)],
            ["multi-get", chance.choice(PATTERNS)],
            ["ls", text(chance)],
            ["status"],
            ["update"],
            ["search"] * 1_000,
        ]
    )
    argv = "\x00".join(words).encode("utf-8", "surrogatepass")
    data = launcher.MAGIC + b"DIRECTORY\x000\x00ENVIRONMENT\x00" + argv
    odd = [
        *(b"", b"x", launcher.MAGIC, launcher.MAGIC + b"\0" * 1_000, launcher.MAGIC + b"/tmp\0-1\0search\0x"),
        *(launcher.MAGIC + "/tmp\0²\0search\0x".encode(), launcher.MAGIC + b"/tmp\x00999999999\0search"),
        *(
            launcher.MAGIC + b"\xff\xfe\0" + b"3\0A\0B\0C\0search\0x",
            chance.randbytes(5_000),
            launcher.MAGIC + b"ping",
        ),
        launcher.MAGIC + b"/tmp\0" + b"9" * 5_000 + b"\0search",
    ]
    kind = chance.random()
    return chance.choice(odd) if kind < 0.15 else damage(chance, data) if kind < 0.35 else data
