"""A server that was started for one project answers for that project alone, at every route."""

from __future__ import annotations

import json

import pytest

from tests.recall.roots import record
from tests.recall.served import running

HERE, THERE = "the lantern is lit by the orchard team", "the lantern is lit by the lumen team"


@pytest.fixture
def of_orchard(tmp_path):
    """A server for the project orchard, whose memory also holds a record of the project lumen."""
    records = [
        record("mem_here", HERE, [], scope={"type": "project", "project": "orchard"}),
        record("mem_there", THERE, [], scope={"type": "project", "project": "lumen"}),
        record("mem_other", "the lantern of another profile", [], profile_id="project:lumen"),
    ]
    memory = tmp_path / "root" / "memory"
    memory.mkdir(parents=True)
    (memory / "L2.playbooks.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    for name in ("orchard", "lumen"):
        (tmp_path / name / ".git").mkdir(parents=True)
    with running(tmp_path, "--rate", "0", "--cwd", tmp_path / "orchard") as server:
        yield server


def test_every_route_knows_one_project(of_orchard):
    turn = {"latest_user_message": "who lights the lantern of the team?"}
    answers = [
        of_orchard.post("/recall", {"query": turn["latest_user_message"]}),
        of_orchard.post("/search", {"query": turn["latest_user_message"]}),
        of_orchard.post("/search", {"query": turn["latest_user_message"], "context": turn}),
        of_orchard.post("/context", {"context": turn}),
        of_orchard.post("/explain", {"context": turn}),
    ]
    for status, answer in answers:
        assert status == 200
        assert HERE in json.dumps(answer)
        assert not [name for name in ("mem_there", "mem_other", "lumen") if name in json.dumps(answer)]


@pytest.mark.parametrize(
    "place", [{"working_directory": "lumen"}, {"profile_id": "project:lumen"}, {"repository_id": "lumen"}]
)
@pytest.mark.parametrize("route", ["/context", "/explain", "/search"])
def test_another_place_is_refused(of_orchard, route, place):
    body = {"context": {"latest_user_message": "the lantern", **place}, "query": "the lantern"}
    if route != "/search":
        del body["query"]
    status, answer = of_orchard.post(route, body)
    assert status == 403
    assert "this server" in answer["error"]
