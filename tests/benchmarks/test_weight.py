"""What `python -m benchmarks weight` says of the environment that these tests run in."""

from __future__ import annotations

import json

import pytest

from benchmarks.doors import weight
from benchmarks.doors.weight import import_ms, markdown, modules_of, own_parts, requirers, weigh


def test_what_is_required_and_by_whom():
    found = requirers([])
    assert "pi-rank" in found["numpy"]
    assert "pytest" not in found, "an extra that was not asked for"
    assert {"pytest", "pluggy"} <= requirers(["test"]).keys()
    assert "pytest" in requirers(["test"])["pluggy"]


def test_one_package():
    package = weigh("msgspec", {"pi-rank"}, {"msgspec", "sys"})
    assert package.bytes > 100_000
    assert package.files > 5
    assert package.import_ms > 0
    assert package.loaded
    assert not weigh("msgspec", set(), {"sys"}).loaded


def test_the_module_of_a_distributions_own_name_comes_first():
    assert modules_of("pytest")[0] == "pytest"
    assert modules_of("no-such-distribution") == []


def test_a_module_that_cannot_be_imported_has_no_time():
    assert import_ms("no_such_module") is None


def test_pi_rank_itself():
    parts = own_parts()
    assert parts["model minilm-l6-int8"] > 20e6
    assert all(size > 0 for size in parts.values())
    assert list(parts)[-3:] == ["compiled core", "sample memory", "Python"]


def test_the_command(capsys, monkeypatch):
    monkeypatch.setattr(weight, "STARTS", 1)
    assert weight.main(["--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    packages = {package["name"]: package for package in said["packages"]}
    assert packages["numpy"]["loaded"]
    assert packages["numpy"]["required_by"][-1] == "pi-rank"
    sizes = [package["bytes"] for package in said["packages"]]
    assert sizes == sorted(sizes, reverse=True)


def test_the_tables_have_their_sums():
    packages = [
        weight.Package("large", "2.0", 3_000_000, 1_200, 12.3, True, ["pi-rank"]),
        weight.Package("small", "1.0", 1_000_000, 34, None, False, ["large", "pi-rank"]),
    ]
    said = markdown(packages, {"Python": 2_000_000}, ["serve"])
    assert "`python -m benchmarks weight serve`" in said
    assert "6.0 MB together." in said
    assert "| large 2.0 | 3.0 | 1,200 | 12 | yes | pi-rank |" in said
    assert "| small 1.0 | 1.0 | 34 |  | no | large, pi-rank |" in said
    assert "| all 2 | 4.0 | 1,234 |  |  |  |" in said
    assert said.count("| all | 2.0 |") == 1


@pytest.mark.parametrize(
    ("extras", "says"),
    [(["nonsense"], "pi-rank has no extra nonsense"), (["absent"], "no-such is not installed")],
)
def test_extras_that_cannot_be_weighed(extras, says, capsys, monkeypatch):
    if extras == ["absent"]:
        monkeypatch.setattr(weight, "requirers", lambda _: weight.metadata.distribution("no-such"))
        extras = ["test"]
    with pytest.raises(SystemExit):
        weight.main(extras)
    assert says in capsys.readouterr().err
