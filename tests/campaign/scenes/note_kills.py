"""Kills a server that remembers, takes back and merges: what was acknowledged holds afterwards."""

from __future__ import annotations

import http.client
import importlib.util
import json
import random
import signal
import subprocess
import sys
import threading
import time

from tests.campaign.door import Door
from tests.support.memory import write_root

WRITERS = 6
READY_SECONDS = 60.0


class NoteKills(Door):
    """One notes file; each case is a life of a server on it, ended by kill -9 or SIGTERM."""

    deadline = 120.0
    repeatable = False

    @classmethod
    def missing(cls):
        absent = [name for name in ("starlette", "uvicorn", "h11") if importlib.util.find_spec(name) is None]
        return f"{', '.join(absent)} is not installed (extra: serve)" if absent else ""

    def __init__(self, folder):
        super().__init__(folder)
        self._place = folder / "notes"
        write_root(self._place / "root", [{"id": "mem_1", "statement": "deploy the orchard"}])
        self._said = {}
        self._taken_back = set()

    def make(self, chance):
        how = chance.choice(["SIGKILL", "SIGKILL", "SIGKILL", "SIGTERM"])
        return {"how": how, "after": round(chance.uniform(0.02, 0.5), 3), "seed": chance.randrange(2**31)}

    def run(self, case, trial):
        server, port = self._start(trial)
        if server is None:
            return
        self._check_all_there(port, trial)
        chance = random.Random(case["seed"])
        lines = [
            threading.Thread(target=self._live, args=(port, chance.random(), trial)) for _ in range(WRITERS)
        ]
        for line in lines:
            line.start()
        time.sleep(case["after"])
        server.send_signal(signal.Signals[case["how"]])
        for line in lines:
            line.join(60)
        code = server.wait(60)
        trial.check(
            case["how"] == "SIGKILL" or code == 0, "SIGTERM does not end it well", f"exit code {code}"
        )
        server.stdout.close()
        trial.tallies["kills"] += case["how"] == "SIGKILL"

    def _start(self, trial):
        command = [
            sys.executable,
            "-m",
            "pi_rank.cli",
            "serve",
            "--root",
            str(self._place / "root"),
            "--port",
            "0",
        ]
        command += ["--store", str(self._place / "store.sqlite3"), "--model", "none", "--rate", "0"]
        with (self._place / "log").open("ab") as log:
            server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        url = server.stdout.readline().decode().strip()
        if not trial.check(url.startswith("http://"), "it does not start again", _tail(self._place / "log")):
            server.kill()
            server.wait()
            return None, 0
        return server, int(url.rpartition(":")[2])

    def _live(self, port, seed, trial):
        """Remembers, takes back and merges until the server is gone."""
        chance, line = random.Random(seed), http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        mine = []
        try:
            while True:
                kind = chance.random()
                if kind < 0.8 or not mine:
                    content = f"note {chance.randrange(10**9)} was said by {chance.randrange(10**9)}"
                    mine.append(_ask(line, "POST", "/remember", {"content": content})["id"])
                    self._said[mine[-1]] = content
                    trial.inputs += 1
                elif kind < 0.95:
                    id_ = mine.pop(chance.randrange(len(mine)))
                    content = self._said.pop(id_)  # from here on it may be there, or not
                    _ask(line, "DELETE", f"/remember/{id_}")
                    self._taken_back.add(content)
                    trial.tallies["taken back"] += 1
                else:
                    _ask(line, "POST", "/consolidate", {})
        except (OSError, http.client.HTTPException):
            return
        except Exception as error:
            trial.say(f"a request fails: {type(error).__name__}", repr(error))
        finally:
            line.close()

    def _check_all_there(self, port, trial):
        path = self._place / "notes.jsonl"
        lines = path.read_bytes().splitlines() if path.exists() else []
        there = {said.get("content") for said in map(json.loads, lines)}
        lost = [content for content in self._said.values() if content not in there]
        trial.check(not lost, "an acknowledged note is lost", str(lost[:3]))
        back = [content for content in self._taken_back if content in there]
        trial.check(not back, "a note that was taken back is there", str(back[:3]))
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        for content in random.Random(len(there)).sample(sorted(self._said.values()), min(3, len(self._said))):
            found = _ask(line, "POST", "/recall", {"query": content, "top_k": 1})["results"]
            seen = found and content in json.dumps(found, ensure_ascii=False)
            trial.check(seen, "an acknowledged note is not recalled", content)
        line.close()


def _ask(line, method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    line.request(method, path, data)
    answer = line.getresponse()
    value = answer.read()
    if answer.status != 200:
        raise ValueError(f"{method} {path}: {answer.status} {value[:200]!r}")
    return json.loads(value)


def _tail(path):
    return path.read_bytes()[-2_000:].decode("utf-8", "replace")
