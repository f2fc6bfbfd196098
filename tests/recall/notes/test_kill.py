"""Kill -9 in the middle of /remember: what was acknowledged is there, once, and whole.

PI_RANK_KILLS=200 runs the full count (docs/recall.md); the suite runs a few.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import sys
import threading
import time

import pytest

from tests.recall.roots import write_root
from tests.recall.served import running

KILLS = int(os.environ.get("PI_RANK_KILLS", "3"))
WRITERS = 8
pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL"),
    pytest.mark.timeout(60 + 20 * KILLS),
]


def write_until_refused(server, kill, writer, acknowledged):
    """Store notes one after the other on one connection, and keep those whose answer came."""
    connection = server.connect(timeout=10)
    number = 0
    try:
        while True:
            content = f"kill{kill}writer{writer}note{number} was said"
            connection.request("POST", "/remember", json.dumps({"content": content}).encode())
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status == 200, body
            acknowledged.append(content)
            number += 1
    except (OSError, http.client.HTTPException):
        return
    finally:
        connection.close()


def test_acknowledged_notes_survive_a_kill(tmp_path):
    write_root(tmp_path / "root")
    dice = random.Random(7)
    acknowledged: list[str] = []
    for kill in range(KILLS):
        with running(tmp_path, "--rate", "0") as server:
            writers = [
                threading.Thread(target=write_until_refused, args=(server, kill, writer, acknowledged))
                for writer in range(WRITERS)
            ]
            for thread in writers:
                thread.start()
            time.sleep(dice.uniform(0.05, 0.4))
            server.process.send_signal(signal.SIGKILL)
            for thread in writers:
                thread.join(20)
    with running(tmp_path, "--rate", "0") as server:
        status = server.ask("GET", "/status")[2]
        sample = dice.sample(acknowledged, min(20, len(acknowledged)))
        found = [server.recall(content, 1)[0]["snippet"] for content in sample]
    stored = [json.loads(line)["content"] for line in (tmp_path / "notes.jsonl").read_bytes().splitlines()]
    assert len(acknowledged) > KILLS * WRITERS
    assert len(set(stored)) == len(stored)
    assert set(acknowledged) <= set(stored)
    assert status["damaged_note_lines"] == 0
    assert status["notes"] == len(stored)
    assert found == sample
