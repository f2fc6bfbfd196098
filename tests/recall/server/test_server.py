"""The server's routes, over real sockets: what they answer, and what they refuse."""

from __future__ import annotations

import json
import time

import pytest

from pi_rank.cli import main
from tests.recall.roots import record
from tests.recall.served import running

BODY = {"query": "deploy orchard", "top_k": 2}


def test_health(server):
    status, _, value = server.ask("GET", "/health")
    assert status == 200
    assert value["status"] == "ok"
    assert abs(value["timestamp"] - time.time()) < 5


def test_recall(server):
    status, headers, value = server.ask("POST", "/recall", BODY)
    assert status == 200
    assert headers["content-type"] == "application/json"
    assert "content-encoding" not in headers
    assert list(value) == ["results", "query", "entities", "novelty"]
    assert value["query"] == "deploy orchard"
    first = value["results"][0]
    assert first["name"] == "mem_deploy"
    assert first["snippet"] == "Deploy orchard with make release; it stops at the canary."
    assert first["layer"] == "L2"
    assert first["presentation"] == "validated"
    assert first["sources"] == [{"source": "lexical", "rank": 1, "score": first["score"]}]
    assert value["entities"][:2] == ["deploy", "orchard"]
    assert 0 <= value["novelty"] <= 1


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("部署 灰度", "mem_bushu"),
        ("灰度发布的错误率", "mem_bushu"),
        ("CI", "mem_ci"),
        ("ci on every branch", "mem_ci"),
    ],
)
def test_queries_of_every_kind(server, query, name):
    rows = server.recall(query)
    assert name in [row["name"] for row in rows]
    assert all(row[key].strip() for row in rows for key in ("name", "type", "snippet"))


@pytest.mark.parametrize(
    "query", [" ", "🚀", "\u0000\u001f", "x" * 16_385, "é\u0301 \ufeff\u202e", "a\r\nb "]
)
def test_any_query_is_answered_and_repeated_untouched(server, query):
    status, value = server.post("/recall", {"query": query})
    assert status == 200
    assert value["query"] == query


def test_nothing_found_is_an_empty_list(server):
    assert server.recall("xylophone zebra") == []


def test_top_k_is_kept_and_nothing_is_repeated(server):
    for top_k in (1, 3, 20):
        rows = server.recall("deploy canary orchard pnpm CI branch release 部署", top_k)
        assert len(rows) <= top_k
        assert len({row["snippet"] for row in rows}) == len(rows)
        assert [row["score"] for row in rows] == sorted((row["score"] for row in rows), reverse=True)
    assert len(server.recall("deploy canary", 1)) == 1


@pytest.mark.parametrize(
    ("path", "body", "status", "error"),
    [
        ("/recall", {}, 400, "query required"),
        ("/recall", {"query": ""}, 400, "query required"),
        ("/recall", {"query": None}, 400, "query required"),
        ("/recall", {"query": 7}, 400, "query required"),
        ("/recall", {"query": "x", "top_k": True}, 400, "top_k must be an integer"),
        ("/recall", {"query": "x", "top_k": 2.0}, 400, "top_k must be an integer"),
        ("/recall", {"query": "x", "top_k": "3"}, 400, "top_k must be an integer"),
        ("/recall", {"query": "x", "top_k": None}, 400, "top_k must be an integer"),
        ("/recall", {"query": "x", "top_k": 0}, 400, "top_k must be from 1 to 20"),
        ("/recall", {"query": "x", "top_k": 21}, 400, "top_k must be from 1 to 20"),
        ("/recall", {"query": "x", "top_k": 10**30}, 400, None),
        ("/recall", [], 400, "the body must be a JSON object"),
        ("/recall", b"", 400, "the body must be JSON in UTF-8"),
        ("/recall", b"{", 400, "the body must be JSON in UTF-8"),
        ("/recall", b'{"query": NaN}', 400, "the body must be JSON in UTF-8"),
        ("/recall", b'{"query": "\xff"}', 400, "the body must be JSON in UTF-8"),
        ("/recall", b'{"query": "\\ud83d"}', 400, "the body must be JSON in UTF-8"),
        ("/recall", b'\xef\xbb\xbf{"query": "x"}', 400, "the body must be JSON in UTF-8"),
        ("/recall", "[" * 500_000, 400, None),
        ("/recall", b"[" * 500_000, 400, "the body must be JSON in UTF-8"),
        ("/recall", b"x" * 1_048_577, 413, "request body too large"),
        ("/remember", {}, 400, "content required"),
        ("/remember", {"content": " \n"}, 400, "content required"),
        ("/remember", {"content": 7}, 400, "content required"),
        ("/remember", {"content": "x", "trigger": 7}, 400, "trigger must be a string"),
        ("/remember", {"content": "x" * 65_537}, 413, None),
        ("/consolidate", {"force": 1}, 400, "force must be a boolean"),
        ("/consolidate", {"force": None}, 400, "force must be a boolean"),
        ("/context", {}, 400, None),
        ("/context", {"context": {"latest_user_message": 7}}, 400, None),
        (
            "/context",
            {"context": {"latest_user_message": "x"}, "max_bytes": -1},
            400,
            "max_bytes must be from 0 to 1000000",
        ),
        ("/search", {"query": "x", "mode": "magic"}, 400, "mode must be hybrid, lexical or semantic"),
        ("/search", {"query": "x", "mode": []}, 400, "mode must be hybrid, lexical or semantic"),
        ("/search", {"query": "x", "k": 0}, 400, "k must be from 1 to 100"),
        ("/nowhere", {}, 404, "not found"),
        ("/recall/", BODY, 404, "not found"),
        ("/health", {}, 405, "method not allowed"),
    ],
)
def test_refused(server, path, body, status, error):
    got, value = server.post(path, body)
    assert got == status
    assert list(value) == ["error"]
    assert error is None or value["error"] == error


def test_get_of_a_post_route(server):
    status, headers, value = server.ask("GET", "/recall")
    assert (status, headers["allow"], value) == (405, "POST", {"error": "method not allowed"})


def test_context_search_and_explain(server):
    turn = {"context": {"latest_user_message": "How do we deploy orchard?"}}
    status, answer = server.post("/context", turn)
    assert status == 200
    assert "mem_deploy" in answer["markdown"]
    assert answer["bytes"] == len(answer["markdown"].encode())
    assert answer["traces"][0]["processor"] == "StatusFilterProcessor"
    status, why = server.post("/explain", turn)
    assert status == 200
    assert "exclusion_reasons" in why["traces"][0]
    status, found = server.post(
        "/search", {"query": "pnpm", "k": 1, "mode": "lexical", "context": turn["context"]}
    )
    assert status == 200
    assert [hit["id"] for hit in found["hits"]] == ["mem_pnpm"]


def test_metrics(server):
    server.recall("deploy")
    status, headers, text = server.ask("GET", "/metrics")
    assert status == 200
    assert headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = text.splitlines()
    assert any(
        line.startswith('pi_rank_requests_total{method="POST",route="/recall",status="200"} ')
        for line in lines
    )
    assert any(line.startswith('pi_rank_stage_seconds_bucket{stage="recall",le="+Inf"} ') for line in lines)
    assert any(line.startswith("pi_rank_index_age_seconds ") for line in lines)
    assert 'pi_rank_recalls_total{mode="lexical"}' in text


def test_openapi_names_every_route(server):
    _, _, document = server.ask("GET", "/openapi.json")
    assert document["openapi"].startswith("3.")
    assert sorted(document["paths"]) == (
        [
            "/consolidate",
            "/context",
            "/explain",
            "/health",
            "/metrics",
            "/openapi.json",
            "/recall",
            "/remember",
            "/remember/{id}",
            "/search",
            "/status",
        ]
    )


def test_status_tells_counts_and_no_paths(server):
    status, _, value = server.ask("GET", "/status")
    assert status == 200
    assert value["status"] == "ok"
    assert value["records"] >= 6
    assert value["refresh"] == "ok"
    assert str(server.folder) not in json.dumps(value)


def test_notes_are_recalled_and_merged(memory):
    with running(memory, "--rate", "0") as server:
        status, answer = server.post(
            "/remember", {"content": "The blue lamp means standby", "trigger": "lamp colours"}
        )
        assert (status, answer["status"], answer["stored"]) == (200, "ok", "The blue lamp means standby")
        assert answer["id"] == server.recall("blue lamp")[0]["id"]
        (row,) = server.recall("blue lamp")
        assert (row["type"], row["layer"], row["presentation"]) == ("note", "L3", "boundary")
        assert server.recall("colours")[0]["snippet"] == "The blue lamp means standby"
        server.post("/remember", {"content": "The blue  lamp means\nstandby", "trigger": "signal"})
        server.post("/remember", {"content": "x" * 100})
        assert len(server.recall("blue lamp")) == 1
        assert server.recall("signal") == []
        assert server.post("/consolidate", {}) == (200, {"status": "ok", "new_memories": 1})
        assert server.post("/consolidate", {"force": True}) == (200, {"status": "ok", "new_memories": 0})
        assert server.recall("signal")[0]["snippet"] == "The blue lamp means standby"
        assert (
            server.post("/context", {"context": {"latest_user_message": "blue lamp standby"}})[1]["selected"]
            == []
        )
    with running(memory) as again:
        assert again.recall("signal")[0]["snippet"] == "The blue lamp means standby"
        assert again.ask("GET", "/status")[2]["notes"] == 3


def test_memory_files_are_never_written(memory):
    before = {path: path.read_bytes() for path in (memory / "root").rglob("*") if path.is_file()}
    with running(memory) as server:
        server.post("/remember", {"content": "something"})
        server.recall("something")
        server.post("/consolidate", {"force": True})
    assert {path: path.read_bytes() for path in (memory / "root").rglob("*") if path.is_file()} == before


def test_new_memory_is_visible_within_a_second(memory):
    with running(memory, "--rate", "0") as server:
        assert server.recall("xylophone") == []
        line = json.dumps(record("mem_new", "The xylophone is out of tune.", []))
        with (memory / "root" / "memory" / "L2.playbooks.jsonl").open("a", encoding="utf-8") as file:
            file.write(line + "\n")
        written = time.monotonic()
        while not server.recall("xylophone"):
            assert time.monotonic() - written < 5
            time.sleep(0.02)
        assert time.monotonic() - written < 2  # one second, and one for a busy machine


def test_memory_that_vanishes_is_still_served(memory):
    with running(memory, "--rate", "0") as server:
        server.post("/remember", {"content": "The blue lamp means standby"})
        (memory / "root").rename(memory / "elsewhere")
        for file in memory.glob("store.sqlite3*"):
            file.unlink()
        deadline = time.monotonic() + 10
        while server.ask("GET", "/status")[2]["refresh"] != "failing":
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert server.recall("deploy orchard")[0]["name"] == "mem_deploy"
        assert server.recall("blue lamp")
        (memory / "elsewhere").rename(memory / "root")
        while server.ask("GET", "/status")[2]["refresh"] != "ok":
            assert time.monotonic() < deadline + 10
            time.sleep(0.05)


def test_a_note_of_control_characters_is_stored_found_and_read_again(memory):
    odd = {"content": "deploy " + "\x01" * 65_000, "trigger": "deploy " + "\x02" * 65_000}
    with running(memory, "--rate", "0") as server:
        assert server.post("/remember", odd)[0] == 200
        assert server.post("/remember", {"content": "a giraffe after it"})[0] == 200
        assert server.recall("giraffe")[0]["snippet"].endswith("a giraffe after it")
        assert server.recall("deploy")
    with running(memory) as server:
        assert server.recall("giraffe")[0]["snippet"].endswith("a giraffe after it")


def test_a_damaged_note_is_named_and_costs_itself(memory):
    (memory / "notes.jsonl").write_bytes(b'{"op":"note","id":"a b","at":"","content":"x"}\n')
    with running(memory) as server:
        assert server.ask("GET", "/status")[2]["damaged_note_lines"] == 1
        assert "notes.jsonl:1: not a note" in server.stop()


def test_a_file_name_cannot_write_lines_of_the_log(memory):
    (memory / "root" / "memory" / "projects").mkdir()
    odd = memory / "root" / "memory" / "projects" / "a\npi-rank: all is well\n.jsonl"
    odd.write_text("not json\n")
    with running(memory) as server:
        lines = server.stop().splitlines()
    assert any("all is well" in line for line in lines)
    assert not [line for line in lines if line.startswith("pi-rank: all is well")]


def test_a_file_that_is_no_memory_does_not_fill_the_log(memory):
    """Nobody may read it: a server that has more to say than a pipe holds would never start."""
    with (memory / "root" / "memory" / "L2.playbooks.jsonl").open("a") as file:
        file.write("not json\n" * 5_000)
    with running(memory) as server:
        assert server.recall("deploy orchard")[0]["name"] == "mem_deploy"
        lines = server.stop().splitlines()
    assert len(lines) == 21
    assert "4,980 more lines are left out; `pi-rank sync --json` names all" in lines[-1]


def test_a_note_is_taken_back(memory, capsys):
    with running(memory, "--rate", "0") as server:
        first = server.post("/remember", {"content": "the password of the safe is hunter2"})[1]["id"]
        second = server.post("/remember", {"content": "the password  of the safe is hunter2"})[1]["id"]
        server.post("/remember", {"content": "the safe stands in the cellar"})
        server.post("/consolidate", {})
        assert [row["id"] for row in server.recall("password of the safe") if "hunter2" in row["snippet"]]
        assert server.ask("DELETE", f"/remember/{second}")[::2] == (200, {"status": "ok", "forgotten": 2})
        assert server.ask("DELETE", f"/remember/{first}")[::2] == (404, {"error": "no such note"})
        assert not [row for row in server.recall("password of the safe") if "hunter2" in row["snippet"]]
        assert server.ask("GET", "/status")[2]["notes"] == 1
        assert b"hunter2" not in (memory / "notes.jsonl").read_bytes()
        third = server.post("/remember", {"content": "the safe is blue"})[1]["id"]
        assert main(["forget", third, "--memory-url", server.url]) == 0
        assert capsys.readouterr().out == "1 note taken back\n"
        assert main(["forget", third, "--memory-url", server.url]) == 1
        assert "no such note" in capsys.readouterr().err
    assert main(["forget", third, "--memory-url", server.url]) == 1
    assert "is `pi-rank serve` running there?" in capsys.readouterr().err
    with running(memory) as again:
        assert again.recall("safe cellar")[0]["snippet"].endswith("the cellar")
        assert again.ask("GET", "/status")[2]["notes"] == 1
