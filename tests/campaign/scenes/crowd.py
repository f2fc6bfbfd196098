"""Very many clients at once on one server: slow ones, silent ones, and those that get an answer."""

from __future__ import annotations

import asyncio
import json
import sys

from tests.campaign.doors.serve import Serve

ANSWER_SECONDS = 60.0
BODY = json.dumps({"query": "deploy the orchard", "top_k": 3}).encode()


class Crowd(Serve):
    """The server of the door `serve`; a case is a number of clients of each kind, all at once."""

    deadline = 200.0
    repeatable = False

    def __init__(self, folder):
        super().__init__(folder)
        if sys.platform != "win32":
            import resource

            _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    def make(self, chance):
        return {
            "asking": chance.choice([50, 200, 1_000, 2_000]),
            "silent": chance.choice([0, 40]),
            "slow": chance.choice([0, 40]),
        }

    def run(self, case, trial):
        before = self._log.stat().st_size
        answers = asyncio.run(self._crowd(case))
        trial.inputs += len(answers)
        good = sum(answer.startswith(b"HTTP/1.1 200") for answer in answers)
        trial.tallies["answers"] += good
        trial.tallies[f"at once: {case['asking']}"] += 1
        others = [answer[:100] for answer in answers if not answer.startswith(b"HTTP/1.1 200")]
        trial.check(not others, "a client is not answered", f"{len(others)} of {len(answers)}: {others[:3]}")
        said = self._log.read_bytes()[before:]
        trial.check(
            b"Traceback" not in said, "a traceback is logged", said[-2_000:].decode("utf-8", "replace")
        )

    async def _crowd(self, case):
        idle = [asyncio.create_task(self._idle(b"")) for _ in range(case["silent"])]
        half = b"POST /recall HTTP/1.1\r\nHost: 127"
        idle += [asyncio.create_task(self._idle(half)) for _ in range(case["slow"])]
        asking = (asyncio.wait_for(self._ask(), ANSWER_SECONDS) for _ in range(case["asking"]))
        found = await asyncio.gather(*asking, return_exceptions=True)
        for task in idle:
            task.cancel()
        await asyncio.gather(*idle, return_exceptions=True)
        return [answer if isinstance(answer, bytes) else repr(answer).encode() for answer in found]

    async def _ask(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        head = "POST /recall HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        head += f"Content-Length: {len(BODY)}\r\n\r\n"
        try:
            writer.write(head.encode() + BODY)
            await writer.drain()
            return await reader.read()
        finally:
            writer.close()

    async def _idle(self, beginning):
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            writer.write(beginning)
            await reader.read()
        finally:
            writer.close()
