"""Who may ask, how often, and what is written down of it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys

import pytest

from pi_rank.cli import main
from pi_rank.recall.server.audit import AuditLog
from tests.recall.served import running

BODY = {"query": "deploy orchard", "top_k": 2}
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permission bits of POSIX")
TOKEN = "s3cret-töken"


@pytest.fixture
def token_file(tmp_path):
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n", encoding="utf-8")
    path.chmod(0o600)
    return path


def bearer(token, scheme="Bearer"):
    return {"Authorization": f"{scheme} {token}".encode()}


def test_token(memory, token_file):
    with running(memory, "--token-file", token_file, "--require-auth", "--rate", "100000") as server:
        assert server.post("/recall", BODY, bearer(TOKEN))[0] == 200
        assert server.post("/recall", BODY, bearer(TOKEN, "bearer"))[0] == 200
        for headers in (
            {},
            bearer("wrong"),
            bearer(TOKEN[:-1]),
            bearer(TOKEN + "x"),
            bearer(TOKEN, "Basic"),
            bearer(""),
        ):
            status, got, value = server.ask("POST", "/recall", BODY, headers)
            assert (status, value) == (401, {"error": "unauthorized"})
            assert got["www-authenticate"].startswith("Bearer")
        assert server.ask("GET", "/health")[0] == 200
        for path in ("/status", "/metrics", "/openapi.json"):
            assert server.ask("GET", path)[0] in (401, 429)
            assert server.ask("GET", path, headers=bearer(TOKEN))[0] == 200
        arguments = subprocess.run(
            ["ps", "-ww", "-o", "args=", str(server.process.pid)], capture_output=True, text=True
        )
        assert TOKEN not in arguments.stdout
        token_file.write_text("rotated")
        assert server.post("/recall", BODY, bearer("rotated"))[0] == 200
        assert server.post("/recall", BODY, bearer(TOKEN))[0] in (401, 429)
        token_file.unlink()
        assert server.post("/recall", BODY, bearer("rotated"))[0] in (401, 429)
        assert TOKEN not in server.stop()
    assert TOKEN not in (memory / "recall-audit.jsonl").read_text(encoding="utf-8")


def test_token_of_the_environment(memory):
    with running(memory, environment={"REMANENTIA_API_TOKEN": "old", "PI_RANK_API_TOKEN": ""}) as server:
        assert server.post("/recall", BODY, bearer("old"))[0] == 200
        assert server.post("/recall", BODY)[0] == 401
    with running(memory, environment={"REMANENTIA_API_TOKEN": "old", "PI_RANK_API_TOKEN": "new"}) as server:
        assert server.post("/recall", BODY, bearer("new"))[0] == 200
        assert server.post("/recall", BODY, bearer("old"))[0] == 401


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--require-auth"], "--require-auth needs a token"),
        (["--host", "0.0.0.0"], "refusing to serve on 0.0.0.0 without a token"),
        (["--host", "::"], "refusing to serve on :: without a token"),
        (["--host", "memory.example"], "without a token"),
        (["--port", "70000"], "port must be from 0 to 65535"),
    ],
)
def test_refused_starts(memory, monkeypatch, capsys, options, why):
    for name in list(os.environ):
        if "_API_" in name:
            monkeypatch.delenv(name)
    command = ["serve", "--root", str(memory / "root"), "--store", str(memory / "s"), "--model", "none"]
    assert main([*command, *options]) == 2
    assert why in capsys.readouterr().err


def test_a_token_file_that_others_can_read_is_refused(memory, token_file, capsys):
    token_file.chmod(0o644)
    command = [
        "serve",
        "--root",
        str(memory / "root"),
        "--store",
        str(memory / "s"),
        "--token-file",
        str(token_file),
    ]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert "chmod 600" in error
    assert str(token_file) not in error


def test_a_port_that_is_taken(memory, server, capsys):
    command = ["serve", "--root", str(memory / "root"), "--store", str(memory / "s"), "--model", "none"]
    assert main([*command, "--port", str(server.origin.port)]) == 1
    assert "cannot serve on 127.0.0.1" in capsys.readouterr().err


def test_strangers_do_not_use_up_the_callers_bucket(memory, token_file):
    with running(memory, "--token-file", token_file) as server:
        statuses = [server.ask("POST", "/recall", BODY)[0] for _ in range(15)]
        assert statuses[:10] == [401] * 10
        assert 429 in statuses[10:]
        status, headers, value = server.ask("POST", "/recall", BODY)
        if status == 429:
            assert value == {"error": "too many requests"}
            assert int(headers["retry-after"]) >= 1
        panel = [server.post("/recall", BODY, bearer(TOKEN))[0] for _ in range(41)]
        assert panel == [200] * 41


def test_rate_and_burst(memory):
    with running(memory, environment={"REMANENTIA_API_RATE": "1", "PI_RANK_API_BURST": "3"}) as server:
        assert [server.post("/recall", BODY)[0] for _ in range(5)] == [200, 200, 200, 429, 429]
        assert server.ask("GET", "/health")[0] == 200


def test_body_limit(memory):
    with running(memory, "--body-limit", "100") as server:
        assert server.post("/recall", {"query": "x" * 100}) == (413, {"error": "request body too large"})
        assert server.post("/recall", {"query": "x"})[0] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:8001"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": ""}, 403),
        ({"Host": "localhost:80@evil.example"}, 403),
        ({"Host": "evil.example@localhost"}, 403),
        ({"Host": "127.0.0.1:80:80"}, 403),
        ({"Host": "[::1]evil.example"}, 403),
        ({"Host": "127.0.0.1"}, 200),
        ({"Host": "LOCALHOST:80"}, 200),
        ({"Host": "localhost:1"}, 200),
        ({"Host": "[::1]:8001"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://[oops"}, 403),
        ({"Origin": "http://localhost:3000"}, 403),
        ({"Origin": "http://203.0.113.5"}, 403),
        ({"Origin": "https://[2001:db8::1]"}, 403),
        ({"Origin": "http://[::ffff:203.0.113.5]"}, 403),
        ({"Origin": "http://evil.example@127.0.0.1"}, 403),
        ({"Origin": "http://localhost:1", "Host": "localhost:1"}, 200),
        ({"Origin": "http://user@localhost:1", "Host": "localhost:1"}, 403),
        ({"Origin": "file://localhost:1", "Host": "localhost:1"}, 403),
        ({"Origin": "http://127.0.0.1"}, 403),
        ({"Host": "203.0.113.5", "Origin": "http://203.0.113.5:80"}, 403),
    ],
)
def test_host_and_origin(server, headers, status):
    assert server.post("/recall", BODY, headers)[0] == status


def test_a_page_may_ask_the_server_that_it_came_from(server):
    own = server.origin.authority
    for origin in (f"http://{own}", f"https://{own}"):
        assert server.post("/recall", BODY, {"Origin": origin})[0] == 200
    assert server.post("/remember", {"content": "planted"}, {"Origin": "http://203.0.113.5"})[0] == 403
    assert not [row for row in server.recall("planted") if row["snippet"] == "planted"]


def test_allowed_host(memory):
    with running(memory, "--allow-host", "Memory.Example") as server:
        assert server.post("/recall", BODY, {"Host": "memory.example:443"})[0] == 200


def rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_audit(memory, token_file):
    with running(memory, "--token-file", token_file) as server:
        server.post("/recall", {"query": "zebra-query"}, bearer(TOKEN))
        server.ask("POST", "/recall?q=zebra-string", BODY, {"X-Zebra": "zebra-header"})
        server.post("/remember", {"content": "zebra-note"}, bearer(TOKEN))
        server.ask("GET", "/health")
        server.post("/nowhere", {}, bearer(TOKEN))
    path = memory / "recall-audit.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "zebra" not in path.read_text(encoding="utf-8")
    found = rows(path)
    assert [(row["method"], row["path"], row["status"], row["outcome"]) for row in found] == [
        ("POST", "/recall", 200, "ok"),
        ("POST", "/recall", 401, "error"),
        ("POST", "/remember", 200, "ok"),
        ("POST", "/nowhere", 404, "error"),
    ]
    assert list(found[0]) == [
        "auth_enabled",
        "client",
        "method",
        "outcome",
        "path",
        "server",
        "status",
        "timestamp_unix",
    ]
    assert found[0]["auth_enabled"] is True
    assert found[0]["client"] == "127.0.0.1"
    assert b": " not in path.read_bytes()


def test_half_an_audit_row_is_taken_back(tmp_path, monkeypatch):
    audit = AuditLog(tmp_path / "audit", max_bytes=10_000, backups=1, auth_enabled=False)
    audit.record("127.0.0.1", "POST", "/recall", 200)
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, data[:20]))  # the disk is full
    audit.record("127.0.0.1", "POST", "/recall", 201)
    monkeypatch.setattr(os, "write", real)
    audit.record("127.0.0.1", "POST", "/recall", 202)
    audit.close()
    assert [row["status"] for row in rows(tmp_path / "audit")] == [200, 202]
    assert audit.failures == 1


def test_audit_rotates(memory):
    environment = {"REMANENTIA_API_AUDIT_MAX_BYTES": "1024", "PI_RANK_API_AUDIT_BACKUPS": "2"}
    with running(
        memory, "--audit-log", memory / "log" / "a.jsonl", "--rate", "0", environment=environment
    ) as server:
        for _ in range(30):
            server.recall("deploy")
    files = sorted((memory / "log").iterdir())
    assert [file.name for file in files] == ["a.jsonl", "a.jsonl.1", "a.jsonl.2"]
    assert all(file.stat().st_size <= 1024 for file in files)
    assert all(rows(file) for file in files)


def test_audit_off(memory):
    with running(memory, environment={"REMANENTIA_API_AUDIT_LOG": "off"}) as server:
        server.recall("deploy")
        assert server.ask("GET", "/status")[2]["audit"] == "off"
    assert not (memory / "recall-audit.jsonl").exists()


def test_an_audit_log_that_cannot_be_written_is_told_of(memory):
    (memory / "taken").mkdir()
    with running(memory, "--audit-log", memory / "taken") as server:
        assert server.recall("deploy")
        value = server.ask("GET", "/status")[2]
        assert (value["audit"], value["audit_failures"]) == ("failing", 1)
        assert "audit log cannot be written" in server.stop()


def test_two_servers_do_not_share_notes(memory, capsys):
    with running(memory) as server:
        command = ["serve", "--root", str(memory / "root"), "--store", str(memory / "store.sqlite3")]
        assert main([*command, "--model", "none", "--port", "0"]) == 1
        assert "another process is using it" in capsys.readouterr().err
        assert server.recall("deploy")
