"""Writes a distilled model: table, tokenizer, licence and notice in a folder, and the card beside it."""

from __future__ import annotations

import hashlib
import io
import json
from typing import TYPE_CHECKING

import numpy as np

from pi_rank.embedding.registry import read_verified
from pi_rank.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

    from pi_rank.embedding.cards import EncoderCard, OnnxCard
    from pi_rank.embedding.distill import Distilled

_LEGAL = ("LICENSE", "NOTICE")  # a distilled model is a derivative of its teacher


def make_folder(card: Path) -> Path:
    """The folder NAME beside the card NAME.toml, made where it is not there.

    :raises ModelError: the path is no NAME.toml, or the folder cannot be made.
    """
    if card.suffix != ".toml":
        raise ModelError(f"a model card is a .toml file, not {card}")
    folder = card.with_suffix("")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"the model's folder {folder} cannot be made: {error.strerror}") from error
    return folder


def write_static_model(
    path: Path, teacher: EncoderCard | OnnxCard, made: Distilled, *, tokenizer: bytes, seed: int
) -> None:
    """Writes the model's files into `make_folder(path)`, and then its card, `path`.

    :param tokenizer: the teacher's tokenizers file.
    :raises ModelError: they cannot be written.
    """
    files = {"table.npz": _table(made), "tokenizer.json": tokenizer}
    files |= {name: read_verified(teacher, name) for name in _LEGAL if name in teacher.files}
    folder = make_folder(path)
    try:
        for name, content in files.items():
            (folder / name).write_bytes(content)
        path.write_text(_card(path, teacher, made, files, seed), encoding="utf-8", newline="\n")
    except OSError as error:
        raise ModelError(f"the model cannot be written to {folder}: {error.strerror}") from error


def _table(made: Distilled) -> bytes:
    # Stored and not compressed: the rows are noise to a compressor, and reading them is the load time.
    content = io.BytesIO()
    np.savez(content, rows=made.rows, scales=made.scales)
    return content.getvalue()


def _card(
    path: Path, teacher: EncoderCard | OnnxCard, made: Distilled, files: dict[str, bytes], seed: int
) -> str:
    source = f"distilled from {teacher.model_id} on {made.passages} passages, seed {seed}"
    fields = {
        "runtime": "static",
        "id": path.stem,
        "summary": f"token vectors distilled from {teacher.id}",
        "source": source,
        "licence": teacher.licence,
        "directory": path.stem,
    }
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items()]
    digests = [f'"{name}" = "{hashlib.sha256(content).hexdigest()}"' for name, content in files.items()]
    measured = f"cosine_to_teacher = {{ mean = {made.cosine:.4f} }}"
    dimension = f"dimension = {made.rows.shape[1]}"
    return "\n".join([*lines, dimension, "", "[files]", *digests, "", "[measured]", measured, ""])
