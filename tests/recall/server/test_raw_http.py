"""Requests as bytes: broken, slow, huge and many. Each gets a clear 4xx, and the server stays up."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import sys
import time
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.recall.served import running

FUZZ_SECONDS = os.environ.get("PI_RANK_FUZZ_SECONDS")
BODY = b'{"query":"deploy orchard","top_k":1}'


def request(body=BODY, *headers, line=b"POST /recall HTTP/1.1", host=b"Host: 127.0.0.1", length=None):
    length = b"Content-Length: %d" % len(body) if length is None else length
    return b"\r\n".join([line, *filter(None, (host, length)), *headers, b"", b""]) + body


def exchange(server, *parts, end=True, timeout=8.0):
    """Send bytes (and pauses), then read until the server closes or is silent for a second after an
    answer.
    """
    with socket.create_connection((server.origin.host, server.origin.port), timeout=timeout) as connection:
        for part in parts:
            if isinstance(part, bytes):
                connection.sendall(part)
            else:
                time.sleep(part)
        if end:
            connection.shutdown(socket.SHUT_WR)
        return read_all(connection)


def read_all(connection):
    answer = b""
    try:
        while data := connection.recv(65536):
            answer += data
    except TimeoutError:
        return answer + b"[silent]"
    return answer


def statuses(answer):
    return [int(code) for code in re.findall(rb"HTTP/1.1 (\d{3})", answer)]


def test_one_request_and_a_half_closed_socket(server):
    answer = exchange(server, request())
    assert statuses(answer) == [200]
    assert b"mem_deploy" in answer


def test_header_and_body_in_pieces(server):
    data = request()
    assert statuses(exchange(server, data[:10], 0.05, data[10:60], 0.05, data[60:-5], 0.05, data[-5:])) == [
        200
    ]


def test_keep_alive_and_pipelining(server):
    assert statuses(exchange(server, request() + request() + request(b"{}"))) == [200, 200, 400]


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (request(length=b""), 411),
        (request(b"24\r\n" + BODY + b"\r\n0\r\n\r\n", b"Transfer-Encoding: chunked", length=b""), 411),
        (request(b"", b"Transfer-Encoding: gzip", length=b""), 400),
        (request(length=b"Content-Length: x"), 400),
        (request(length=b"Content-Length: -1"), 400),
        (request(length=b"Content-Length: 1\r\nContent-Length: 2"), 400),
        (request(length=b"Content-Length: %d" % (len(BODY) + 9)), 400),
        (request(length=b"Content-Length: 99999999"), 413),
        (request(length=b"Content-Length: 99999999999999999999"), 400),
        (request(b"\x1f\x8b", b"Content-Encoding: gzip"), 415),
        (request(host=b""), 400),
        (request(host=b"Host: a\r\nHost: b"), 400),
        (request(b"", b"Bad Header: x"), 400),
        (request(b"", b"X: a\x00b"), 400),
        (request(line=b"POST  /recall  HTTP/1.1"), 400),
        (request(line=b"POST /\xff HTTP/1.1"), 400),
        (request(line=b"BREW /recall HTTP/1.1"), 405),
        (request(line=b"POST /%ff%00 HTTP/1.1"), 404),
        (request(line=b"POST /recall?x=%ff HTTP/1.1"), 200),
        (request(line=b"POST http://127.0.0.1/recall HTTP/1.1"), 404),
        (b"GET / HTTP/1.0\r\n\r\n", 403),
        (b"hello\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100 + b"\r\n\r\n", 400),
        (b"POST /recall HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-", 400),
        (request(b"", b"Expect: 100-continue", length=b"Content-Length: 5"), 400),
    ],
)
def test_broken_requests(server, data, status):
    answer = exchange(server, data)
    final = [code for code in statuses(answer) if code != 100]
    assert final[0] == status, answer
    if status >= 400:
        assert list(json.loads(answer.split(b"\r\n\r\n")[-1])) == ["error"]
    assert b"[silent]" not in answer
    assert server.ask("GET", "/health")[0] == 200


@pytest.mark.parametrize("method", [b"HEAD", b"POST"])
def test_a_chunk_that_is_none_gets_one_answer(server, method):
    """Whichever comes first: what the gate says of chunks, or that this is none. HEAD's has no body."""
    line = method + b" /recall HTTP/1.1"
    answer = exchange(server, request(b"{x: 1\r\n", b"Transfer-Encoding: chunked", line=line))
    assert statuses(answer) in ([400], [411]), answer
    assert (b"error" in answer.split(b"\r\n\r\n")[-1]) == (method == b"POST")


@pytest.mark.parametrize("size", [33_000, 70_000])
def test_a_head_that_is_too_long(server, size):
    """431 where it came whole; where it came in parts, the first ones are a request without an end."""
    answer = exchange(server, request(b"", b"X: " + b"y" * size))
    assert statuses(answer) in ([400], [431])


def test_a_body_that_is_longer_than_said(server):
    got = statuses(exchange(server, request() + b"trailing rubbish\r\n\r\n"))
    assert got == [200, 400]


def test_a_refused_body_is_taken_in_and_its_sender_answered(server):
    body = b"x" * 3_000_000
    answer = exchange(server, request(body), end=False, timeout=8)
    assert statuses(answer) == [413]


@pytest.mark.parametrize("megabytes", [2, 40])
def test_who_sends_too_much_before_it_reads_gets_its_answer_also_where_the_connection_ends(server, megabytes):
    """Closed at once, with the rest unread, the connection was reset and the answer lost."""
    body = b"x" * (megabytes << 20)
    for _ in range(5):
        with socket.create_connection((server.origin.host, server.origin.port), timeout=20) as connection:
            connection.sendall(request(body, b"Connection: close"))
            assert statuses(read_all(connection)) == [413]


def test_who_never_ends_is_heard_no_longer_than_the_limit(server):
    with socket.create_connection((server.origin.host, server.origin.port), timeout=20) as connection:
        connection.sendall(request(b"", b"Connection: close", length=b"Content-Length: 999999999"))
        began = time.monotonic()
        with pytest.raises(OSError):
            while time.monotonic() < began + 30:
                connection.sendall(b"x" * 100)
                time.sleep(0.1)
        assert 5 < time.monotonic() - began < 20


def test_reset_in_the_middle_of_a_body(server):
    for _ in range(20):
        connection = socket.create_connection((server.origin.host, server.origin.port))
        connection.sendall(request(length=b"Content-Length: 5000"))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        connection.close()
    assert server.recall("deploy orchard")


@contextmanager
def limited(seconds):
    """The connection class on a trivial application, with short limits, in this process."""
    import threading

    import uvicorn

    from pi_rank.serving.connection import connection_class

    async def application(scope, receive, send):
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        application,
        http=connection_class(seconds, seconds),
        lifespan="off",
        log_config=None,
        timeout_keep_alive=1,
    )
    instance = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(instance.serve(sockets=[listener])))
    thread.start()
    try:
        yield listener.getsockname()
    finally:
        instance.should_exit = True
        thread.join(10)


def closes_within(address, seconds, *parts, drip=None):
    with socket.create_connection(address, timeout=seconds + 3) as connection:
        started = time.monotonic()
        for part in parts:
            connection.sendall(part)
        connection.settimeout(0.1)
        answer = b""
        while time.monotonic() - started < seconds + 3:
            try:
                data = connection.recv(65536)
            except TimeoutError:
                if drip:
                    connection.sendall(drip)
                continue
            except OSError:
                return answer, time.monotonic() - started
            if not data:
                return answer, time.monotonic() - started
            answer += data
    return answer, None


def test_slow_heads_are_cut_off():
    with limited(0.5) as address:
        assert closes_within(address, 0.5)[1] < 2
        answer, after = closes_within(address, 0.5, b"POST /recall HTT")
        assert statuses(answer) == [408]
        assert after < 2
        answer, after = closes_within(address, 0.5, b"GET / HTTP/1.1\r\n", drip=b"X: y\r\n")
        assert statuses(answer) == [408]
        assert after < 2
        answer, after = closes_within(
            address, 0.5, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"GET / HT", drip=b"T"
        )
        assert statuses(answer)[0] == 200
        assert after < 3


def test_slow_bodies_do_not_hold_anybody_else(server):
    """Eighty senders that stop in the middle of a body, and one caller who is answered all the same."""
    stalled = []
    try:
        for _ in range(80):
            connection = socket.create_connection((server.origin.host, server.origin.port))
            connection.sendall(request(length=b"Content-Length: 5000"))
            stalled.append(connection)
        started = time.monotonic()
        assert server.recall("deploy orchard")
        assert time.monotonic() - started < 2
    finally:
        for connection in stalled:
            connection.close()


def test_two_thousand_clients_at_once(server):
    async def one():
        reader, writer = await asyncio.open_connection(server.origin.host, server.origin.port)
        writer.write(request(BODY, b"Connection: close"))
        answer = await reader.read()
        writer.close()
        return statuses(answer)

    async def all_of_them():
        return await asyncio.gather(*(one() for _ in range(2_000)))

    resource = pytest.importorskip("resource")
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 4_096:
        pytest.skip("this shell allows fewer than 4,096 open files")
    assert asyncio.run(all_of_them()) == [[200]] * 2_000


@pytest.mark.skipif(sys.platform == "win32", reason="SIGTERM")
def test_a_stop_finishes_what_has_begun(memory):
    with running(memory, "--rate", "0") as server:
        idle = server.connect()
        idle.request("GET", "/health")
        idle.getresponse().read()
        data = request()
        with socket.create_connection((server.origin.host, server.origin.port), timeout=10) as begun:
            begun.sendall(data[:-5])
            time.sleep(0.3)
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            begun.sendall(data[-5:])
            assert statuses(read_all(begun)) == [200]
        assert server.process.wait(20) == 0
        assert server.stop() == ""


PIECES = st.sampled_from(
    [
        b"POST /recall HTTP/1.1\r\n",
        b"GET /status HTTP/1.1\r\n",
        b"POST /remember HTTP/1.0\r\n",
        b"Host: 127.0.0.1\r\n",
        b"Content-Length: 36\r\n",
        b"Content-Length: 3\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Connection: close\r\n",
        b"Expect: 100-continue\r\n",
        b"Upgrade: websocket\r\nConnection: upgrade\r\n",
        b"Authorization: Bearer x\r\n",
        b"\r\n",
        b"\r\n\r\n",
        BODY,
        b"{}",
        b'{"query":"x","top_k":99}',
        b"5\r\nhello\r\n0\r\n\r\n",
    ]
)


# About two hundred of these a second.
EXAMPLES = 100 if FUZZ_SECONDS is None else int(FUZZ_SECONDS) * 200


@pytest.mark.timeout(120 + EXAMPLES // 20)
@settings(deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PIECES | st.binary(max_size=30), max_size=10))
def test_any_bytes_get_an_answer_or_an_end(server, pieces):
    answer = exchange(server, b"".join(pieces))
    assert not answer.endswith(b"[silent]")
    assert all(code < 500 for code in statuses(answer)), answer
    assert server.process.poll() is None
