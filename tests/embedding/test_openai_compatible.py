"""An endpoint that works, hangs, drips, rate-limits, breaks off, or answers what cannot be used."""

from __future__ import annotations

import email.utils
import time

import numpy as np
import pytest

from pi_rank.embedding import load_embedder, openai_compatible
from pi_rank.embedding.registry import read_card
from pi_rank.errors import ModelError
from tests.embedding.endpoint import DIMENSION, send, serving, write_card

KEY = "sk-very-secret-123"


@pytest.fixture
def endpoint():
    with serving() as server:
        yield server


@pytest.fixture
def load(endpoint, tmp_path):
    """Loads a card for the endpoint with these fields."""
    return lambda **fields: load_embedder(str(write_card(tmp_path / "remote.toml", endpoint, **fields)))


@pytest.fixture
def waits(monkeypatch):
    """The pauses that were made, none of them waited for."""
    made = []
    monkeypatch.setattr(openai_compatible.time, "sleep", made.append)
    return made


def status(code, body="{}", **headers):
    return lambda handler, request: send(handler, code, body.encode(), **headers)


def answer(change):
    """Answers well but for `change(data)`."""

    def changed(handler, request):
        rows = [
            {"index": i, "embedding": [1.0] + [0.0] * (DIMENSION - 1)} for i in range(len(request["input"]))
        ]
        send(handler, 200, {"data": change(rows)})

    return changed


def test_queries_and_documents_get_the_servers_vectors_at_unit_length(endpoint, load):
    embedder = load(texts_per_request=2)
    heard = []
    matrix = embedder.embed_documents(["tabs", "spaces", "both"], heard.append)
    assert (matrix.dtype, matrix.shape, heard) == (np.float32, (3, DIMENSION), [2, 3])
    np.testing.assert_allclose(matrix[1], endpoint.embedder.embed_query("spaces"), atol=1e-6)
    assert [request["input"] for request in endpoint.requests] == [["tabs", "spaces"], ["both"]]
    assert endpoint.requests[0]["model"] == "hashing"
    vector = embedder.embed_query("tabs")
    assert (vector == matrix[0]).all()
    assert not vector.flags.writeable


def test_connections_are_kept_and_queries_remembered(endpoint, load):
    embedder = load()
    for text in ("one", "two", "one", "three"):
        embedder.embed_query(text)
    assert (len(endpoint.requests), len(endpoint.connections)) == (3, 1)


def test_prompts_and_an_empty_text(endpoint, load):
    embedder = load(query_prompt="query: ", document_prompt="passage: ")
    embedder.embed_query("tabs")
    embedder.embed_documents(["spaces"])
    load().embed_documents([""])
    assert [request["input"] for request in endpoint.requests] == [
        ["query: tabs"],
        ["passage: spaces"],
        [" "],
    ]


def test_answers_in_another_order_are_sorted(endpoint, load):
    def backwards(handler, request):
        send(handler, 200, {"data": endpoint.data(request)[::-1]})

    endpoint.answers = [backwards]
    matrix = load().embed_documents(["tabs", "spaces"])
    np.testing.assert_allclose(matrix[0], endpoint.embedder.embed_query("tabs"), atol=1e-6)


def test_rate_limits_are_waited_for_as_asked(endpoint, load, waits):
    date = email.utils.formatdate(time.time() + 20, usegmt=True)
    endpoint.answers = [status(429, Retry_After="7"), status(503, Retry_After=date)]
    assert load().embed_documents(["tabs"]).shape == (1, DIMENSION)
    assert waits[0] == 7
    assert 15 < waits[1] <= 20


def test_without_retry_after_the_pause_doubles_and_ends(endpoint, load, waits):
    endpoint.answers = [status(500, "out of memory")] * 4
    with pytest.raises(ModelError, match="status 500: out of memory"):
        load(attempts=4).embed_documents(["tabs"])
    assert (waits, len(endpoint.requests)) == ([0.5, 1.0, 2.0], 4)


def test_a_wait_of_an_hour_is_an_error(endpoint, load, waits):
    endpoint.answers = [status(429, Retry_After="3600")]
    with pytest.raises(ModelError, match=r"status 429.*it asks to wait 3,600 seconds"):
        load().embed_documents(["tabs"])
    assert waits == []


def test_a_query_is_tried_once(endpoint, load, waits):
    endpoint.answers = [status(503)]
    with pytest.raises(ModelError, match="status 503"):
        load().embed_query("tabs")
    assert (len(endpoint.requests), waits) == (1, [])


@pytest.mark.parametrize("code", [400, 401, 404, 301, 204])
def test_a_status_that_will_not_pass_is_not_tried_again(endpoint, load, waits, code):
    endpoint.answers = [status(code, Location="http://127.0.0.1:9/")]
    with pytest.raises(ModelError, match=f"status {code}"):
        load().embed_documents(["tabs"])
    assert (len(endpoint.requests), waits) == (1, [])


def test_a_server_that_hangs_costs_the_timeout_and_no_more(endpoint, load, waits):
    endpoint.answers = [lambda handler, request: endpoint.released.wait(30)]
    began = time.monotonic()
    with pytest.raises(ModelError, match=r"no whole answer within 0\.3 seconds"):
        load(timeout_seconds=0.3).embed_query("tabs")
    assert time.monotonic() - began < 10


def test_a_server_that_drips_costs_the_timeout_and_no_more(endpoint, load, waits):
    def drip(handler, request):
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        while not endpoint.released.wait(0.05):
            handler.wfile.write(b" ")

    endpoint.answers = [drip]
    began = time.monotonic()
    with pytest.raises(ModelError, match=r"no whole answer within 0\.5 seconds"):
        load(timeout_seconds=0.5).embed_query("tabs")
    assert time.monotonic() - began < 10


def test_a_connection_that_breaks_off_is_tried_again(endpoint, load, waits):
    def break_off(handler, request):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"data": [')
        handler.close_connection = True

    endpoint.answers = [break_off]
    assert load().embed_documents(["tabs"]).shape == (1, DIMENSION)
    assert waits == [0.5]


def test_an_idle_connection_that_the_server_closed_is_replaced(endpoint, load, waits):
    embedder = load()

    def close_silently(handler, request):
        send(handler, 200, {"data": endpoint.data(request)})
        handler.close_connection = True

    endpoint.answers = [close_silently]
    embedder.embed_query("tabs")
    embedder.embed_query("spaces")
    assert (len(endpoint.requests), len(endpoint.connections), waits) == (2, 2, [])


def test_no_server(load, endpoint, waits, tmp_path):
    embedder = load(url="http://127.0.0.1:1/v1", attempts=2)
    with pytest.raises(ModelError, match=r"127\.0\.0\.1:1/v1/embeddings: ConnectionRefusedError"):
        embedder.embed_documents(["tabs"])
    assert waits == [0.5]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[:-1], "1 vectors, or not those asked for: 2 texts"),
        (lambda rows: rows + rows, "4 vectors"),
        (lambda rows: [rows[0], rows[0]], "not those asked for"),
        (lambda rows: [{**row, "embedding": [1.0] * 3} for row in rows], "of 3 dimensions, its card says 8"),
        (lambda rows: [{**row, "embedding": [0.0] * DIMENSION} for row in rows], "a vector of zeros"),
        (lambda rows: [{**row, "embedding": [1e200] * DIMENSION} for row in rows], "not finite"),
        (
            lambda rows: [{**row, "embedding": [float("nan")] * DIMENSION} for row in rows],
            "no list of embeddings",
        ),
        (lambda rows: [{**row, "embedding": [None] * DIMENSION} for row in rows], "no list of embeddings"),
        (lambda rows: [{**row, "embedding": "AAAA"} for row in rows], "no list of embeddings"),
        (lambda rows: {"error": "overloaded"}, "no list of embeddings"),
    ],
)
def test_an_answer_that_cannot_be_used(endpoint, load, waits, change, message):
    endpoint.answers = [answer(change)]
    with pytest.raises(ModelError, match=message):
        load().embed_documents(["tabs", "spaces"])
    assert (len(endpoint.requests), waits) == (1, [])


def test_an_answer_that_is_no_json(endpoint, load):
    endpoint.answers = [status(200, "<html>Sign in</html>")]
    with pytest.raises(ModelError, match="no list of embeddings"):
        load().embed_query("tabs")


def test_the_key_comes_from_the_environment_or_a_file(endpoint, load, monkeypatch, tmp_path):
    monkeypatch.setenv("REMOTE_KEY", KEY)
    load(key_environment="REMOTE_KEY").embed_query("tabs")
    (tmp_path / "key.txt").write_text(f"{KEY}\n", encoding="utf-8")
    load(key_file="key.txt").embed_query("tabs")
    load().embed_query("tabs")
    sent = [headers.get("Authorization") for headers in endpoint.headers]
    assert sent == [f"Bearer {KEY}", f"Bearer {KEY}", None]


def test_a_key_that_is_missing_or_none(load, monkeypatch):
    monkeypatch.delenv("REMOTE_KEY", raising=False)
    with pytest.raises(ModelError, match="model remote: there is no key in REMOTE_KEY"):
        load(key_environment="REMOTE_KEY")
    with pytest.raises(ModelError, match=r"key\.txt cannot be read: No such file"):
        load(key_file="key.txt")
    monkeypatch.setenv("REMOTE_KEY", f"{KEY}\n{KEY}")
    with pytest.raises(ModelError, match="REMOTE_KEY is no key") as refusal:
        load(key_environment="REMOTE_KEY")
    assert KEY not in str(refusal.value)


def test_the_key_is_in_no_message(endpoint, load, monkeypatch, waits):
    monkeypatch.setenv("REMOTE_KEY", KEY)
    endpoint.answers = [status(401, f'{{"error": "no such key: {KEY}"}}')]
    embedder = load(key_environment="REMOTE_KEY")
    with pytest.raises(ModelError, match=r"no such key: \[key\].*is the key in REMOTE_KEY right") as refusal:
        embedder.embed_documents(["tabs"])
    assert KEY not in str(refusal.value)
    assert KEY not in repr(embedder)


def test_the_key_does_not_cross_a_network_in_the_clear(load, monkeypatch):
    monkeypatch.setenv("REMOTE_KEY", KEY)
    with pytest.raises(ModelError, match=r"not sent over http to models\.example"):
        load(key_environment="REMOTE_KEY", url="http://models.example/v1")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"url": "ftp://models.example"}, "url must begin with https://"),
        ({"dimension": 0, "attempts": 0}, "dimension and attempts must be above 0"),
        ({"key_environment": "A", "key_file": "b"}, "not both"),
        ({"url": "https://user@models.example/v1"}, "nothing else"),
        ({"url": "https://models.example:port/v1"}, "is no URL"),
        ({"key": KEY}, "unknown field `key`"),
    ],
)
def test_a_card_that_cannot_be_used(load, fields, message):
    with pytest.raises(ModelError, match=message):
        load(**fields)


def test_another_server_or_model_is_another_model(endpoint, tmp_path):
    def model_id(**fields):
        return read_card(write_card(tmp_path / "card.toml", endpoint, **fields)).model_id

    ids = {model_id(), model_id(model="other"), model_id(url="https://h/v1"), model_id(query_prompt="q")}
    assert len(ids) == 4
    assert model_id(timeout_seconds=9.0) == model_id()
