"""Session files as the agents write them: what the model still reads, and nothing that somebody only says."""

from __future__ import annotations

import json

import pytest

from pi_rank.agents import transcripts
from pi_rank.agents.shown import MARK
from pi_rank.agents.transcripts import blocks_in

TITLE = "# Persistent Intelligence Context"


def block(number):
    return f"{TITLE}\n{MARK} {number}\n\n## Selected Memory\n- mem_{number} [L2, conf 0.90] It was so."


@pytest.fixture
def session(tmp_path):
    def write(*entries, more=b""):
        path = tmp_path / "session.jsonl"
        path.write_bytes("".join(json.dumps(entry) + "\n" for entry in entries).encode() + more)
        return str(path)

    return write


def claude(uuid, parent, text=None, **more):
    attachment = {"type": "hook_additional_context", "content": [text], "hookEvent": "UserPromptSubmit"}
    inner = {"type": "attachment", "attachment": attachment} if text else {"type": "user", "message": {}}
    return {"uuid": uuid, "parentUuid": parent, **inner, **more}


def test_claude_code(session):
    path = session(
        {"type": "queue-operation"},
        claude("a", None),
        claude("b", "a", block(1)),
        claude("x", "b", block(7)),  # a branch that was left
        claude("c", "b"),
        claude("d", "c", block(2)),
        claude("s", "d", block(8), isSidechain=True),  # a subagent's
        more=b'{"uuid": "e", "parentUuid": "d", "type": "att',  # being written
    )
    assert blocks_in("claude-code", path) == [block(1), block(2)]


def test_claude_code_after_a_compaction(session):
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "z",
        "parentUuid": None,
        "compactMetadata": {"preservedMessages": {"uuids": ["d"]}},
    }
    path = session(
        claude("a", None), claude("b", "a", block(1)), claude("d", "b", block(2)), boundary,
        claude("e", "z"), claude("f", "e", block(3)),
    )  # fmt: skip
    assert blocks_in("claude-code", path) == [block(2), block(3)]


def test_claude_code_does_not_follow_a_circle(session):
    assert blocks_in("claude-code", session(claude("a", "b", block(1)), claude("b", "a", block(2)))) == [
        block(1),
        block(2),
    ]


def codex(text, role="developer"):
    payload = {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}
    return {"type": "response_item", "payload": payload}


def task():
    return {"type": "event_msg", "payload": {"type": "task_started"}}


def test_codex(session):
    path = session(task(), codex(block(1)), codex(block(5), role="user"), task(), codex(block(2)))
    assert blocks_in("codex", path) == [block(1), block(2)]


def test_codex_after_a_compaction_and_a_rollback(session):
    kept = {
        "type": "compacted",
        "payload": {"message": "", "replacement_history": [codex(block(2))["payload"]]},
    }
    rollback = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}
    path = session(task(), codex(block(1)), task(), codex(block(2)), kept, task(), codex(block(3)), rollback)
    assert blocks_in("codex", path) == [block(2)]


def test_gemini_cli(session):
    wrapped = f"<hook_context>{block(1)}</hook_context>"
    path = session(
        {"type": "user", "content": [{"text": "How?"}, {"text": wrapped}]},
        {"type": "user", "content": [{"text": f"I say: {block(2)}"}]},
        {"type": "gemini", "content": [{"text": wrapped}]},
    )
    assert blocks_in("gemini-cli", path) == [wrapped]


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini-cli"])
def test_odd_entries_and_odd_files_are_left_out(session, tmp_path, agent):
    odd = [
        None,
        [],
        7,
        {"uuid": 7, "attachment": []},
        {"payload": 3},
        {"type": "user", "content": {"a": [1]}},
    ]
    odd += [
        {"type": "compacted", "payload": {"replacement_history": 4}},
        {"type": "response_item", "payload": {}},
    ]
    assert blocks_in(agent, session(*odd, more=b"\xff\x00[" + b"[" * 100_000)) == []
    assert blocks_in(agent, str(tmp_path)) == []
    assert blocks_in(agent, str(tmp_path / "nowhere")) == []
    assert blocks_in(agent, "") == []
    assert blocks_in(agent, "a\0b") == []


def test_of_a_long_session_the_end_is_read(session, monkeypatch):
    monkeypatch.setattr(transcripts, "MAX_TRANSCRIPT_BYTES", 2_000)
    path = session(codex(block(1)), *[codex("x" * 300, role="user")] * 9, codex(block(2)))
    assert blocks_in("codex", path) == [block(2)]
