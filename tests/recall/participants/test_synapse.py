"""SYNAPSE's published client and participants, run as they are, against our server; and ours around
theirs.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pi_rank.engine import MemoryEngine
from pi_rank.recall.client.client import RemanentiaHttpRecall
from pi_rank.recall.engine_recall import EngineRecall
from pi_rank.recall.participants.command import CommandParticipant
from pi_rank.recall.participants.fence import render_hits
from pi_rank.recall.participants.participants import MemoryAugmentedParticipant, TurnRequest
from pi_rank.recall.types import MemoryPolicy
from tests.recall.served import running

synapse = pytest.importorskip("synapse_channel.participants", reason="synapse-channel is not installed")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="scripted commands of POSIX")

# Reads its prompt and context from stdin as a command participant does, and says what memory gave it.
ECHO = "import re, sys; print((re.findall('^STATUS: [A-Z]+', sys.stdin.read(), re.M) or ['no memory'])[0])"


def ask(client, query, top_k=3):
    return asyncio.run(client.recall(query, top_k=top_k))


@pytest.mark.parametrize("query", ["deploy orchard", "部署 灰度 🚀", 'CI "quoted" \x01 \u2028', "ci"])
def test_their_client_gets_hits(server, query):
    found = ask(synapse.RemanentiaHttpRecall(server.url), query)
    assert found.query == query
    assert found.hits
    assert not found.abstained
    assert all(hit.source and hit.kind and hit.snippet and hit.score > 0 for hit in found.hits)


def test_their_client_gets_as_many_as_it_asks_for(server):
    everything = "deploy canary pnpm CI branch release 部署 orchard every never"
    assert len(ask(synapse.RemanentiaHttpRecall(server.url), everything, 2).hits) == 2
    assert len(ask(synapse.RemanentiaHttpRecall(server.url), everything, 20).hits) > 3


def test_their_client_abstains(server):
    found = ask(synapse.RemanentiaHttpRecall(server.url), "xylophone zebra")
    assert found.abstained
    assert found.hits == ()


def test_their_client_with_a_token(memory, tmp_path):
    token = tmp_path / "token"
    token.write_text("s3cret")
    token.chmod(0o600)
    with running(memory, "--token-file", token) as server:
        assert ask(synapse.RemanentiaHttpRecall(server.url, token), "deploy").hits
        assert ask(RemanentiaHttpRecall(server.url, token), "deploy").hits


class Recorder:
    """A participant that keeps what it was asked."""

    identity = "participant/recorder"
    channel = synapse.ParticipantChannel.HEADLESS

    def __init__(self):
        self.requests = []

    async def take_turn(self, request):
        self.requests.append(request)
        return synapse.error_turn_result(
            participant=self.identity, channel=self.channel, request=request, reason="recorded"
        )

    def health(self):
        return synapse.ParticipantHealth(self.identity, self.channel, True, "ready")


def test_their_wrapper_with_our_server(server):
    inner = Recorder()
    theirs = synapse.MemoryAugmentedParticipant(inner, synapse.RemanentiaHttpRecall(server.url))
    asyncio.run(theirs.take_turn(synapse.TurnRequest("t", "deploy orchard", context="before")))
    (request,) = inner.requests
    assert request.prompt == "deploy orchard"
    assert request.context.startswith("before\n\n<<< MEMORY RECALL")
    assert "STATUS: HITS" in request.context
    assert "source=mem_deploy;" in request.context


def test_their_wrapper_says_unavailable_when_the_server_has_stopped(memory):
    with running(memory) as server:
        server.stop()
        inner = Recorder()
        theirs = synapse.MemoryAugmentedParticipant(inner, synapse.RemanentiaHttpRecall(server.url))
        asyncio.run(theirs.take_turn(synapse.TurnRequest("t", "deploy")))
        assert "STATUS: UNAVAILABLE" in inner.requests[0].context


@pytest.fixture
def engine(memory):
    with MemoryEngine.open(memory / "root", store=memory / "s.sqlite3", model=None) as opened:
        opened.sync()
        yield opened


def test_our_wrapper_around_their_participant(engine):
    inner = Recorder()
    ours = MemoryAugmentedParticipant(inner, EngineRecall(engine))
    result = asyncio.run(ours.take_turn(synapse.TurnRequest("t", "deploy orchard")))
    assert result["reason"] == "recorded"
    assert ours.identity == "participant/recorder"
    assert ours.health().available
    context = inner.requests[0].context
    assert "mode=validated" in context
    assert "source=mem_deploy;" in context


def test_our_wrapper_around_a_real_participant_of_theirs(engine, tmp_path):
    binary = script(tmp_path / "kimi", "import sys\nprint('said: ' + ' '.join(sys.argv[1:]))")
    theirs = synapse.KimiParticipant("participant/kimi", binary=str(binary), timeout=20)
    result = asyncio.run(
        MemoryAugmentedParticipant(theirs, EngineRecall(engine)).take_turn(
            synapse.TurnRequest("t", "deploy orchard")
        )
    )
    assert result["participant"] == "participant/kimi"
    assert set(result) == set(synapse.TurnResult.__annotations__)


def test_their_wrapper_around_ours(server):
    ours = CommandParticipant("echo", [sys.executable, "-c", ECHO])
    theirs = synapse.MemoryAugmentedParticipant(ours, synapse.RemanentiaHttpRecall(server.url))
    result = asyncio.run(theirs.take_turn(synapse.TurnRequest("t", "deploy orchard")))
    assert result["answer"] == "STATUS: HITS"
    assert theirs.identity == "echo"
    assert theirs.health().available


def test_our_records_in_their_fence(engine):
    found = asyncio.run(EngineRecall(engine).recall("deploy orchard", top_k=1))
    block = synapse.render_memory_context(found, max_hits=3, max_chars=4096)
    assert block == render_hits(found, service=found.source, max_hits=3, max_chars=4096)


def test_ours_in_their_conversation():
    ours = [CommandParticipant(name, [sys.executable, "-c", ECHO]) for name in ("a", "b")]
    posted = []

    async def post(result):
        posted.append(result)

    transcript = asyncio.run(synapse.conduct_exchange("question", ours[0], ours[1], topic_id="t", post=post))
    assert transcript is not None
    assert [result["answer"] for result in posted] == ["no memory", "no memory"]
    assert [result["participant"] for result in posted] == ["a", "b"]


def test_results_have_their_shape():
    ours = CommandParticipant("echo", [sys.executable, "-c", ECHO])
    result = asyncio.run(ours.take_turn(TurnRequest("t", "q")))
    assert set(result) == set(synapse.TurnResult.__annotations__)
    assert synapse.turn_result_from_payload(synapse.turn_result_to_payload(result)) == result
    assert result["kind"] == synapse.ENVELOPE_KIND


def test_policies_agree():
    assert vars(MemoryPolicy()) == vars(synapse.MemoryPolicy())


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!{sys.executable}\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("command", "recalls"),
    [
        (["ask", "kimi", "deploy orchard"], 1),
        (["exchange", "deploy orchard", "kimi", "kimi"], 2),
        (["convene", "deploy orchard", "kimi", "kimi", "--mode", "colloquy"], None),
    ],
)
def test_their_command_line(memory, tmp_path, command, recalls):
    """`synapse participant` with a scripted agent on the path, and our server as its memory."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    script(
        bin_folder / "kimi",
        "import json, sys\n"
        "text = ' '.join(sys.argv) + (sys.stdin.read() if not sys.stdin.isatty() else '')\n"
        "print(json.dumps({'role': 'assistant', 'content': 'HITS' if 'STATUS: HITS' in text else 'NONE'}))",
    )
    with running(memory) as server:
        done = subprocess.run(
            [
                Path(sys.executable).with_name("synapse"),
                "participant",
                *command,
                "--memory-url",
                server.url,
                "--json",
            ],
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            env={
                **os.environ,
                "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
                "HOME": str(tmp_path),
            },
        )
        rows = (memory / "recall-audit.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [json.loads(row) for row in rows]
    assert asked, done
    assert all((row["path"], row["status"]) == ("/recall", 200) for row in asked)
    assert recalls is None or len(asked) == recalls
    assert len(asked) >= 2 or command[0] == "ask"
    assert "HITS" in done.stdout, done
    assert "NONE" not in done.stdout
