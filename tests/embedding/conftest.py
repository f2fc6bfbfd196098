"""A private copy of the shipped model that a test may damage, and the shipped model itself, loaded once."""

from __future__ import annotations

import shutil

import pytest

from pi_rank.embedding import load_embedder, registry


@pytest.fixture(scope="session")
def default():
    return load_embedder("default")


@pytest.fixture
def card(tmp_path):
    """Path of a copy of the default model's card, its files beside it."""
    shutil.copytree(registry.cards_folder() / "minilm-l6-int8", tmp_path / "minilm-l6-int8")
    return shutil.copy(registry.cards_folder() / "minilm-l6-int8.toml", tmp_path / "copy.toml")
