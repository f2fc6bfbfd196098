"""Cards: what is shipped, what a card must say, and files that are missing, cut short or altered."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from pi_rank.embedding import load_embedder, registry
from pi_rank.errors import ModelError


def replace(card, old, new):
    text = Path(card).read_text(encoding="utf-8")
    assert old in text
    Path(card).write_text(text.replace(old, new), encoding="utf-8")


def test_the_default_is_shipped_with_licence_and_notice():
    card = registry.shipped_cards()["minilm-l6-int8"]
    assert registry.find_card("default") == card
    assert (card.licence, card.dimension) == ("Apache-2.0", 384)
    assert {"encoder.bin", "LICENSE", "NOTICE"} == set(card.files)
    registry.verify(card)


def test_shipped_files_are_all_on_the_card():
    card = registry.find_card("default")
    assert {path.name for path in card.folder.iterdir()} == set(card.files)


@pytest.mark.parametrize("name", ["encoder.bin", "LICENSE"])
def test_an_altered_file_is_refused_with_both_digests(card, name):
    path = Path(card).parent / "minilm-l6-int8" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelError) as refusal:
        registry.verify(registry.read_card(Path(card)))
    message = str(refusal.value)
    assert str(path) in message
    assert hashlib.sha256(content).hexdigest() in message
    assert "Restore the file" in message


def test_a_truncated_model_is_refused(card):
    path = Path(card).parent / "minilm-l6-int8" / "encoder.bin"
    with path.open("r+b") as file:
        file.truncate(1000)
    with pytest.raises(ModelError, match=r"encoder\.bin is not the one .* 1,000 bytes"):
        load_embedder(str(card))


def test_a_missing_model_is_refused(card):
    (Path(card).parent / "minilm-l6-int8" / "encoder.bin").unlink()
    with pytest.raises(ModelError, match=r"encoder\.bin cannot be read: No such file"):
        load_embedder(str(card))


def test_a_file_that_changes_after_it_was_checked_is_checked_again(card):
    found = registry.read_card(Path(card))
    path = found.folder / "NOTICE"
    content = registry.read_verified(found, "NOTICE")
    status = path.stat()
    path.write_bytes(content.replace(b"model", b"world", 1))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    with pytest.raises(ModelError, match=r"NOTICE is not the one"):
        registry.read_verified(found, "NOTICE")


def test_a_mapped_file_that_changes_after_it_was_checked_is_checked_again(card):
    load_embedder(str(card))
    path = registry.read_card(Path(card)).folder / "encoder.bin"
    content = bytearray(path.read_bytes())
    content[-1000] ^= 1
    status = path.stat()
    path.unlink()  # as an upgrade replaces it: who has it mapped keeps the old one
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    with pytest.raises(ModelError, match=r"encoder\.bin is not the one .* checksum"):
        load_embedder(str(card))


def test_an_empty_file(card):
    (registry.read_card(Path(card)).folder / "encoder.bin").write_bytes(b"")
    with pytest.raises(ModelError, match=r"encoder\.bin is not the one .* 0 bytes, checksum"):
        load_embedder(str(card))


def test_a_file_is_hashed_once_while_it_stays_the_same(card, monkeypatch):
    found = registry.read_card(Path(card))
    registry.verify(found)
    monkeypatch.setattr(registry.hashlib, "sha256", None)
    registry.verify(found)


def test_a_damaged_shipped_file_says_to_reinstall(card, monkeypatch):
    monkeypatch.setattr(registry, "cards_folder", lambda: Path(card).parent)
    (Path(card).parent / "minilm-l6-int8" / "encoder.bin").write_bytes(b"version https://git-lfs")
    with pytest.raises(ModelError, match="Reinstall the package: pip install"):
        load_embedder(str(card))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("max_tokens = 128", "max_tokens = 'all'", "Expected `int`, got `str` - at `$.max_tokens`"),
        ("dimension = 384", "", "missing required field `dimension`"),
        ("dimension = 384", "dimension = 384\ncolour = 1", "unknown field `colour`"),
        ('runtime = "bert-int8"', 'runtime = "gguf"', "Invalid value 'gguf' - at `$.runtime`"),
        ('"encoder.bin" =', '"other.bin" =', "[files] gives no sha256 for encoder.bin"),
        ("head_tokens = 32", "head_tokens = 128", "head_tokens must be from 1 to 127"),
        ('id = "minilm-l6-int8"', "id = ", "Invalid value"),
    ],
)
def test_a_card_that_cannot_be_used_says_where(card, old, new, message):
    replace(card, old, new)
    with pytest.raises(ModelError) as refusal:
        registry.read_card(Path(card))
    assert message in str(refusal.value)
    assert str(card) in str(refusal.value)


def test_a_missing_card_and_an_empty_name(tmp_path):
    with pytest.raises(ModelError, match="cannot be read: No such file"):
        load_embedder(str(tmp_path / "none.toml"))
    with pytest.raises(ModelError, match="must not be empty; shipped: e5-small, minilm-l6-int8, static-256"):
        load_embedder(" ")


@pytest.mark.parametrize(
    ("old", "new"),
    [("head_tokens = 32", "head_tokens = 33"), ('query_prompt = ""', 'query_prompt = "query: "')],
)
def test_whatever_changes_vectors_changes_the_model_id(card, old, new):
    before = registry.read_card(Path(card)).model_id
    assert before == registry.find_card("default").model_id
    replace(card, old, new)
    assert registry.read_card(Path(card)).model_id != before


def test_measured_figures_do_not_change_the_model_id(card):
    before = registry.read_card(Path(card)).model_id
    replace(card, 'summary = "', 'summary = "Better: ')
    assert registry.read_card(Path(card)).model_id == before
