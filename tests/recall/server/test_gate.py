"""The gate around an application that misbehaves: time limits, and failures that tell nothing."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

import pi_rank.recall as recall
from pi_rank.recall.server.audit import AuditLog
from pi_rank.recall.server.metrics import Metrics
from pi_rank.recall.server.settings import Settings

requests = pytest.importorskip("starlette.requests", reason="pi-rank[serve] is not installed")
from starlette.applications import Starlette  # noqa: E402
from starlette.routing import Route  # noqa: E402

from pi_rank.recall.server.app import _broken, _recorder  # noqa: E402
from pi_rank.serving import bodies  # noqa: E402
from pi_rank.serving.api_errors import ApiError, error_response  # noqa: E402
from pi_rank.serving.gate import Gate  # noqa: E402

HEADERS = [(b"host", b"localhost"), (b"content-length", b"2")]


def scope_of(path="/recall", headers=HEADERS):
    return {"type": "http", "method": "POST", "path": path, "headers": headers, "client": ("127.0.0.1", 1)}


def answer(application, tmp_path, headers=HEADERS, **settings):
    """Status and body of one request through the gate."""
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request", "body": b"{}", "more_body": False}

    audit = AuditLog(tmp_path / "audit", max_bytes=10_000, backups=1, auth_enabled=False)
    record = _recorder(audit, Metrics(), frozenset({"/recall"}))
    gate = Gate(application, Settings(**settings), record)
    asyncio.run(gate(scope_of(headers=headers), receive, send))
    audit.close()
    rows = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    assert [row["status"] for row in rows] == [sent[0]["status"]]
    return sent[0]["status"], json.loads(sent[1]["body"])


def test_an_exception_tells_nothing(tmp_path, caplog):
    async def application(scope, receive, send):
        raise RuntimeError("secret /home/me/memory")

    with caplog.at_level(logging.ERROR):
        assert answer(application, tmp_path) == (500, {"error": "internal error"})
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text.replace('raise RuntimeError("secret', "")


def test_a_route_that_fails_answers_in_json_too(tmp_path, caplog):
    async def endpoint(request):
        raise RuntimeError("secret")

    application = Starlette(
        routes=[Route("/recall", endpoint, methods=["POST"])], exception_handlers={Exception: _broken}
    )
    with caplog.at_level(logging.ERROR):
        assert answer(application, tmp_path) == (500, {"error": "internal error"})
    assert "RuntimeError" in caplog.text


@pytest.mark.parametrize(("size", "status"), [(32_000, 200), (33_000, 431), (120_000, 431)])
def test_a_head_has_32_kib(tmp_path, size, status):
    async def application(scope, receive, send):
        await error_response(ApiError(200, ""))(scope, receive, send)

    headers = [*HEADERS, (b"x-padding", b"x" * size)]
    assert answer(application, tmp_path, headers=headers)[0] == status


def test_a_request_that_takes_too_long(tmp_path):
    async def application(scope, receive, send):
        await asyncio.sleep(30)

    assert answer(application, tmp_path, request_seconds=0.1) == (503, {"error": "the request took too long"})


def read(messages, *, limit=100, seconds=5.0, length=b"2"):
    """`read_object` on a body that arrives as these messages; numbers are pauses."""
    parts = iter(messages)

    async def receive():
        part = next(parts)
        if isinstance(part, (int, float)):
            await asyncio.sleep(part)
            part = next(parts)
        return part

    request = requests.Request(scope_of(headers=[(b"content-length", length)]), receive)
    return asyncio.run(bodies.read_object(request, limit, seconds))


def chunk(body, more=False):
    return {"type": "http.request", "body": body, "more_body": more}


def test_bodies_in_pieces():
    assert read([chunk(b'{"a":', True), 0.01, chunk(b"1}")], length=b"7") == {"a": 1}


@pytest.mark.parametrize(
    ("messages", "status"),
    [
        ([chunk(b"{", True), 30, chunk(b"}")], 408),
        ([chunk(b"{", True), {"type": "http.disconnect"}], 400),
        ([chunk(b"{}  ")], 400),
        ([chunk(b"x" * 101)], 413),
        ([chunk(b"x" * 60, True), chunk(b"x" * 60)], 413),
    ],
)
def test_bodies_that_are_refused(messages, status):
    with pytest.raises(ApiError) as refused:
        read(messages, seconds=0.2)
    assert refused.value.status == status


def test_exported_names():
    assert sorted(recall.__all__) == recall.__all__
    assert all(getattr(recall, name).__name__ == name for name in recall.__all__)
    with pytest.raises(AttributeError):
        _ = recall.nothing
