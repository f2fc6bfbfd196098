"""The client against servers of every kind: exact requests, accepted answers, and everything else one
plain error.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import ssl
import subprocess
import sys
import time

import pytest

from pi_rank.errors import ConfigError
from pi_rank.recall.types import RecallUnavailableError
from tests.recall.raw_server import response, serving

pytest.importorskip("h11", reason="pi-rank[serve] is not installed")
from pi_rank.recall.client.client import RemanentiaHttpRecall

ROW = {"name": "notes/a.md", "type": "semantic", "snippet": "hello world", "score": 0.5}
# An answer as REMANENTIA shapes it (contract, section 1).
REMANENTIA = {"results": [ROW], "query": "q", "entities": ["acme", "deploy"], "novelty": 0.25}


def recall(url, query="q", top_k=3, **options):
    return asyncio.run(RemanentiaHttpRecall(url, **options).recall(query, top_k=top_k))


def answered(payload):
    return serving(lambda _: payload)


def test_the_request():
    with answered(response({"query": 'a "é"\x01', "results": []})) as (url, requests):
        recall(url, 'a "é"\x01', top_k=7)
    head, _, body = requests[0].partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST /recall HTTP/1.1"
    headers = dict(line.lower().split(b": ", 1) for line in lines[1:])
    assert headers == {
        b"host": url.removeprefix("http://").encode(),
        b"user-agent": b"pi-rank",
        b"accept": b"application/json",
        b"accept-encoding": b"identity",
        b"content-type": b"application/json",
        b"content-length": b"%d" % len(body),
        b"connection": b"close",
    }
    assert body == '{"query":"a \\"é\\"\\u0001","top_k":7}'.encode()


def test_hits_of_remanentia():
    with answered(response(REMANENTIA)) as (url, _):
        found = recall(url)
    assert found.query == "q"
    assert not found.abstained
    (hit,) = found.hits
    assert (hit.source, hit.kind, hit.score, hit.snippet) == ("notes/a.md", "semantic", 0.5, "hello world")
    assert hit.presentation == "boundary"


def test_abstained():
    with answered(response({**REMANENTIA, "results": []})) as (url, _):
        found = recall(url)
    assert found.abstained
    assert found.hits == ()
    assert found.note


def test_rows_past_top_k_are_not_looked_at():
    with answered(response({"query": "q", "results": [ROW, ROW, {"name": ""}, 7]})) as (url, _):
        assert len(recall(url, top_k=2).hits) == 2


@pytest.mark.parametrize(
    ("payload", "hits"),
    [
        (response(REMANENTIA, status=b"201 Created"), 1),
        (response(REMANENTIA, content_type=b"Application/JSON; charset=utf-8"), 1),
        (response(REMANENTIA, b"Content-Encoding: identity"), 1),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + response(REMANENTIA), 1),
        (response({"query": "q", "results": [{**ROW, "score": None}]}), 1),
        (response({"query": "q", "results": [{k: v for k, v in ROW.items() if k != "score"}]}), 1),
        (response({"query": "q", "results": [{**ROW, "score": 10**25}]}), 1),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
            b'1c\r\n{"query": "q", "results": []\r\n1\r\n}\r\n0\r\n\r\n',
            0,
        ),
        (b'HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{"query":"q","results":[]}', 0),
    ],
)
def test_accepted_answers(payload, hits):
    with answered(payload) as (url, _):
        assert len(recall(url).hits) == hits


BODY = json.dumps(REMANENTIA).encode()
BAD = {
    "redirect": response(b"", b"Location: http://127.0.0.1:1/", status=b"307 Temporary Redirect"),
    "server error": response({"error": "x"}, status=b"500 Internal Server Error"),
    "unauthorised": response({"error": "x"}, status=b"401 Unauthorized"),
    "no content": b"HTTP/1.1 204 No Content\r\n\r\n",
    "no content type": response(REMANENTIA, content_type=None),
    "problem json": response(REMANENTIA, content_type=b"application/problem+json"),
    "html": response(b"<html>", content_type=b"text/html"),
    "two content types": response(REMANENTIA, b"Content-Type: text/html"),
    "gzip": response(REMANENTIA, b"Content-Encoding: gzip"),
    "bom": response(b"\xef\xbb\xbf" + BODY),
    "utf-16": response(BODY.decode().encode("utf-16")),
    "invalid utf-8": response(b'{"query":"q","results":[],"x":"\xff"}'),
    "NaN": response(b'{"query":"q","results":[],"novelty":NaN}'),
    "Infinity": response(b'{"query":"q","results":[],"novelty":1e999}'),
    "not json": response(b"hello"),
    "empty": response(b""),
    "list": response([]),
    "no query": response({"results": []}),
    "other query": response({"query": "Q", "results": []}),
    "trimmed query": response({"query": "q ", "results": []}),
    "results missing": response({"query": "q"}),
    "results no list": response({"query": "q", "results": {}}),
    "row no object": response({"query": "q", "results": ["x"]}),
    "blank name": response({"query": "q", "results": [{**ROW, "name": " "}]}),
    "blank type": response({"query": "q", "results": [{**ROW, "type": "\n"}]}),
    "blank snippet": response({"query": "q", "results": [{**ROW, "snippet": "\u3000"}]}),
    "name no string": response({"query": "q", "results": [{**ROW, "name": 1}]}),
    "snippet missing": response({"query": "q", "results": [{"name": "a", "type": "b"}]}),
    "bool score": response({"query": "q", "results": [{**ROW, "score": True}]}),
    "string score": response({"query": "q", "results": [{**ROW, "score": "1"}]}),
    "huge score": response(
        b'{"query":"q","results":[{"name":"a","type":"b","snippet":"c","score":1%s}]}' % (b"0" * 400)
    ),
    "deep": response(b'{"query":"q","results":[],"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "short body": response(BODY[:-5], length=len(BODY)),
    "closed at once": b"",
    "not http": b"SSH-2.0-OpenSSH_9.6\r\n",
    "too long, said so": response(b"x", length=1_048_577),
    "too long": response(b'{"query":"q","results":[],"x":"' + b"y" * 1_048_576 + b'"}'),
    "endless header": b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000,
    "lengths that differ": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
    b"Content-Length: 3\r\n\r\n{} ",
}


@pytest.mark.parametrize("payload", BAD.values(), ids=BAD)
def test_anything_else_is_one_plain_error(payload):
    with answered(payload) as (url, _), pytest.raises(RecallUnavailableError) as failed:
        recall(url)
    assert str(failed.value) == "memory recall is unavailable"
    assert failed.value.__cause__ is None
    assert failed.value.__suppress_context__


def test_interim_responses_without_end_are_cut_off():
    endless = serving(lambda _: (b"HTTP/1.1 102 Processing\r\n\r\n" for _ in iter(int, 1)))
    with endless as (url, _), pytest.raises(RecallUnavailableError):
        recall(url, max_response_bytes=1000)


def test_longest_answer_that_is_accepted():
    frame = b'{"query":"q","results":[],"x":"%s"}'
    body = frame % (b"y" * (1_048_576 - len(frame) + 2))
    assert len(body) == 1_048_576
    with answered(response(body)) as (url, _):
        assert recall(url).abstained


def test_nobody_there():
    with serving(lambda _: b"") as (url, _):
        pass
    with pytest.raises(RecallUnavailableError):
        recall(url)


def drip(_):
    for byte in response(REMANENTIA):
        yield bytes([byte])
        yield 0.05


def test_one_deadline_for_a_server_that_drips():
    with serving(drip) as (url, _):
        started = time.monotonic()
        with pytest.raises(RecallUnavailableError):
            recall(url, timeout_seconds=0.4)
        assert time.monotonic() - started < 1.5


def test_the_process_ends_at_the_deadline():
    program = (
        "import asyncio, sys\n"
        "from pi_rank.recall.client.client import RemanentiaHttpRecall\n"
        "try:\n"
        "    asyncio.run(RemanentiaHttpRecall(sys.argv[1], timeout_seconds=0.3).recall('q', top_k=1))\n"
        "except Exception as error:\n"
        "    print(error)\n"
    )
    with serving(lambda _: [30.0]) as (url, _):
        started = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", program, url], capture_output=True, text=True, timeout=20
        )
    assert done.stdout == "memory recall is unavailable\n"
    assert done.stderr == ""
    assert time.monotonic() - started < 10


def test_cancelling_is_not_an_error_of_memory():
    async def cancelled(url):
        task = asyncio.create_task(RemanentiaHttpRecall(url).recall("q", top_k=1))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with serving(lambda _: [5.0]) as (url, _):
        asyncio.run(cancelled(url))


def test_no_proxy_from_the_environment(monkeypatch):
    with answered(response({"query": "q", "results": []})) as (proxy, stolen):
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy)
        with answered(response(REMANENTIA)) as (url, requests):
            assert len(recall(url).hits) == 1
    assert stolen == []
    assert len(requests) == 1


def test_redirects_are_not_followed():
    with answered(response(REMANENTIA)) as (elsewhere, requests):
        location = f"Location: {elsewhere}/recall".encode()
        moved = answered(response(b"", location, status=b"302 Found"))
        with moved as (url, _), pytest.raises(RecallUnavailableError):
            recall(url)
    assert requests == []


def test_longest_query():
    longest = "é" * 8176  # 2 bytes each; the JSON around it takes 31 or 32
    with serving(
        lambda data: response({"query": json.loads(data.partition(b"\r\n\r\n")[2])["query"], "results": []})
    ) as (
        url,
        requests,
    ):
        fits = "é" * ((16_384 - len(b'{"query":"","top_k":3}')) // 2)
        assert recall(url, fits).abstained
        with pytest.raises(RecallUnavailableError):
            recall(url, longest + "é" * 10)
    assert len(requests) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="permission bits of POSIX")
def test_the_token_is_read_at_every_call(tmp_path):
    path = tmp_path / "token"
    with answered(response(REMANENTIA)) as (url, requests):
        for token in ("first", "second"):
            path.write_text(token + "\n")
            path.chmod(0o600)
            recall(url, token_file=path)
        path.chmod(0o644)
        with pytest.raises(RecallUnavailableError) as failed:
            recall(url, token_file=path)
        assert str(path) not in str(failed.value)
    assert [
        b"Authorization: Bearer first" in requests[0],
        b"Authorization: Bearer second" in requests[1],
    ] == [True, True]
    assert len(requests) == 2


@pytest.mark.parametrize("top_k", [0, 21, True, 2.0, "3", None])
def test_top_k_out_of_range(top_k):
    with pytest.raises(ConfigError, match="top_k"):
        recall("http://127.0.0.1:1", top_k=top_k)


@pytest.mark.parametrize("query", ["", "  ", None, 7])
def test_queries_that_are_none(query):
    with pytest.raises(ConfigError, match="query"):
        recall("http://127.0.0.1:1", query)


@pytest.mark.parametrize(
    "options",
    [
        {"timeout_seconds": 0},
        {"timeout_seconds": 31},
        {"timeout_seconds": float("nan")},
        {"timeout_seconds": True},
        {"timeout_seconds": "2"},
        {"max_request_bytes": 0},
        {"max_response_bytes": True},
        {"token_file": ""},
        {"token_file": b"x"},
    ],
)
def test_arguments_are_checked_at_construction(options):
    with pytest.raises(ConfigError):
        RemanentiaHttpRecall("http://127.0.0.1:8001", **options)


def test_nothing_of_the_url_or_the_token_in_its_repr():
    assert (
        repr(RemanentiaHttpRecall("https://memory.example", "/etc/token"))
        == "RemanentiaHttpRecall(https, token=yes)"
    )


@pytest.fixture
def certificate(tmp_path):
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    key, file = tmp_path / "key.pem", tmp_path / "cert.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*command, "-keyout", key, "-out", file], check=True, capture_output=True)
    return file, key


def test_https_and_whom_it_trusts(certificate, monkeypatch):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with serving(lambda _: response(REMANENTIA), context=context) as (url, requests):
        port = url.rpartition(":")[2]
        with pytest.raises(RecallUnavailableError):
            recall(f"https://localhost:{port}")
        assert requests == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        assert len(recall(f"https://localhost:{port}", timeout_seconds=10).hits) == 1
        with pytest.raises(RecallUnavailableError):
            recall(f"https://127.0.0.1:{port}", timeout_seconds=10)
    assert len(requests) == 1


def test_the_deadline_covers_the_look_up_of_the_name(monkeypatch):
    monkeypatch.setattr(
        "pi_rank.recall.client.http_call.socket.getaddrinfo", lambda *_, **__: time.sleep(3) or []
    )
    started = time.monotonic()
    with pytest.raises(RecallUnavailableError):
        recall("https://memory.example", timeout_seconds=0.2)
    assert time.monotonic() - started < 2
