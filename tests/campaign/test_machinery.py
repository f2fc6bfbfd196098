"""The campaign itself: it finds what is planted, makes it small, keeps it, and outlives what it kills."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.campaign import __main__ as command
from tests.campaign import registry
from tests.campaign.corpus import as_bytes, as_text, keep_case, kept_cases
from tests.campaign.door import REPOSITORY, Door, Trial, try_case
from tests.campaign.reduce import reduce_case
from tests.campaign.runner import Campaign
from tests.campaign.values import damage, raw_line, record, spoil


class Planted(Door):
    """Falls where its case has a 7 among the numbers, and in other ways where it is told to."""

    deadline = 2.0

    def make(self, chance):
        return {"numbers": [chance.randrange(100) for _ in range(50)], "do": os.environ.get("PLANTED", "")}

    def run(self, case, trial):
        trial.inputs += len(case.get("numbers", []))
        if case.get("do") == "die":
            os.abort()
        if case.get("do") == "hang":
            time.sleep(60)
        with trial.expecting("number"):
            if 7 in case.get("numbers", []):
                raise ValueError("a seven")


class Sound(Door):
    """Nothing ever falls here."""

    def make(self, chance):
        return chance.random()

    def run(self, case, trial):
        trial.inputs += 1
        time.sleep(0.01)


@pytest.fixture
def planted(monkeypatch):
    here = "tests.campaign.test_machinery"
    monkeypatch.setitem(registry.DOORS, "planted", f"{here}:Planted")
    monkeypatch.setitem(registry.DOORS, "sound", f"{here}:Sound")
    # Workers are other processes, with the table as it stands in the file.
    monkeypatch.setenv("CAMPAIGN_DOORS", json.dumps({"planted": f"{here}:Planted", "sound": f"{here}:Sound"}))


def run_planted(tmp_path, seconds=3.0):
    campaign = Campaign(["planted"], seed="1", corpus=tmp_path / "corpus", workers=1)
    campaign.run(seconds)
    return campaign


def test_a_planted_fault_is_found_made_small_and_kept(planted, tmp_path):
    campaign = run_planted(tmp_path)
    (fault,) = campaign.faults
    assert fault.kind == "number: ValueError at test_machinery.py:run"
    assert "a seven" in fault.detail
    assert json.loads(fault.path.read_text())["case"] == {"numbers": [7]}
    assert campaign.tallies["planted"].inputs >= 50


@pytest.mark.parametrize(("how", "kind"), [("die", "died: SIGABRT"), ("hang", "hung")])
def test_a_case_that_ends_or_stops_its_process_is_kept_whole(planted, tmp_path, monkeypatch, how, kind):
    monkeypatch.setenv("PLANTED", how)
    (fault,) = run_planted(tmp_path).faults
    assert fault.kind == kind
    case = json.loads(fault.path.read_text())["case"]
    assert len(case["numbers"]) == 50
    if how == "hang":
        assert "in run" in fault.detail  # where it stood


def test_the_commands_exit_code_and_summary_say_what_was_found(planted, tmp_path, capsys):
    common = ["--minutes", "0.03", "--workers", "1", "--keep-nothing", "--seed", "3"]
    assert command.main(["--door", "sound", *common]) == 0
    assert "0 faults" in capsys.readouterr().out
    assert command.main(["--door", "planted", "--json", *common]) == 1
    summary = json.loads(capsys.readouterr().out)
    assert summary["seed"] == "3"
    assert [fault["kind"] for fault in summary["doors"]["planted"]["faults"]] == [
        "number: ValueError at test_machinery.py:run"
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT")
def test_an_interrupted_run_says_what_was_done(planted):
    command = [sys.executable, "-m", "tests.campaign", "--door", "sound", "--minutes", "5", "--keep-nothing"]
    run = subprocess.Popen(
        command,
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A suite that runs in the background of a shell ignores interruptions, and its children with it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(5)
    run.send_signal(signal.SIGINT)
    said, errors = run.communicate(timeout=30)
    assert run.returncode == 130
    assert "sound" in said
    assert " 0 faults" in said
    assert "Traceback" not in errors


def test_an_unknown_door_is_refused():
    ran = subprocess.run(
        [sys.executable, "-m", "tests.campaign", "--door", "nowhere"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 2
    assert "nowhere" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_reducing_leaves_what_matters_and_no_more():
    case = {"lines": ["a" * 500, "b needle c", "d"], "other": [1, 2, {"x": "needle"}], "n": 12}
    small = reduce_case(case, lambda value: "needle" in json.dumps(value.get("lines", "")))
    assert small == {"lines": ["needle"]}


def test_a_case_that_breaks_the_campaign_itself_does_not_pass():
    class Broken(Sound):
        def run(self, case, trial):
            raise KeyError("x")

    (problem,) = try_case(Broken(None), 0).problems
    assert problem.kind.startswith("campaign: KeyError")


def test_what_a_trial_allows_is_counted_and_no_problem():
    trial = Trial()
    with trial.expecting("it", ValueError):
        raise ValueError
    assert trial.problems == []
    assert trial.tallies["refused"] == 1


def test_kept_cases_come_back_as_they_were(tmp_path, monkeypatch):
    case = {"line": as_text(b"\xff\x00\xed\xa0\x80 \xe9\x83\xa8"), "n": [1.5, None]}
    path = keep_case("notes", "It fell: at once", case, tmp_path)
    assert path.name.startswith("it-fell-at-once-")
    monkeypatch.setattr("tests.campaign.corpus.FOLDER", tmp_path)
    (kept,) = kept_cases("notes")
    assert (kept.door, kept.found, kept.case) == ("notes", "It fell: at once", case)
    assert as_bytes(kept.case["line"]) == b"\xff\x00\xed\xa0\x80 \xe9\x83\xa8"


def test_what_is_drawn_depends_on_the_seed_alone():
    def drawn(seed):
        chance = random.Random(seed)
        made = [raw_line(chance, spoil(chance, record(chance, number), 3)) for number in range(50)]
        return made, damage(chance, bytes(range(256)) * 40)

    assert drawn(5) == drawn(5)
    assert drawn(5) != drawn(6)
