"""Model cards (models/*.toml): which embedding models there are, their files, and how to run them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal

import msgspec

from pi_rank.errors import ModelError

DEFAULT_MODEL = "minilm-l6-int8"


class OnnxCard(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="runtime", tag="onnx"
):
    """A transformer as an ONNX graph with a tokenizers file, in a folder beside its card."""

    id: str
    summary: str
    source: str
    licence: str
    directory: str
    dimension: int
    pooling: Literal["mean", "cls"]
    max_tokens: int
    head_tokens: int
    files: dict[str, str]
    """sha256 by file name; "model.onnx" and "tokenizer.json" are needed to run it."""
    query_prompt: str = ""
    document_prompt: str = ""
    relevance_floor: float | None = None
    """A prompt whose relevance (pi_rank.ranking.blend) is below this is off the memory's subjects."""
    measured: dict[str, Any] = {}
    path: str = ""
    """Where the card was read from; set by `read_card`."""

    @property
    def folder(self) -> Path:
        """Where the card's files are."""
        return Path(self.path).parent / self.directory

    @property
    def model_id(self) -> str:
        """The id and a digest of all that a vector depends on: another file or limit is another model."""
        parts = (
            self.files["model.onnx"],
            self.files["tokenizer.json"],
            self.pooling,
            self.max_tokens,
            self.head_tokens,
            self.query_prompt,
            self.document_prompt,
        )
        return f"{self.id}@{hashlib.sha256(repr(parts).encode()).hexdigest()[:12]}"


class SentenceTransformersCard(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="runtime",
    tag="sentence-transformers",
):
    """Any model that sentence-transformers loads."""

    id: str
    source: str
    """A model's name, or the path of its folder."""
    summary: str = ""
    licence: str = ""
    backend: Literal["torch", "onnx", "openvino"] = "torch"
    truncate_dimension: int | None = None
    measured: dict[str, Any] = {}
    path: str = ""
    """Where the card was read from; set by `read_card`."""


Card = OnnxCard | SentenceTransformersCard


def cards_folder() -> Path:
    """The cards that came with this package: in it when it is installed, beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "models"
    return installed if installed.is_dir() else package.parent / "models"


def shipped_cards() -> dict[str, Card]:
    """Cards that came with this package, by id, in id order."""
    cards = (read_card(path) for path in cards_folder().glob("*.toml"))
    return {card.id: card for card in sorted(cards, key=lambda card: card.id)}


def read_card(path: Path) -> Card:
    """Raises ModelError, naming the key, where a card is missing or says what this version does not know."""
    try:
        card: Card = msgspec.toml.decode(path.read_bytes(), type=Card)
    except OSError as error:
        raise ModelError(f"model card {path} cannot be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise ModelError(f"model card {path}: {error}") from error
    if isinstance(card, OnnxCard):
        _check_onnx_card(card, path)
    return msgspec.structs.replace(card, path=str(path.resolve()))


def _check_onnx_card(card: OnnxCard, path: Path) -> None:
    missing = sorted({"model.onnx", "tokenizer.json"} - card.files.keys())
    if missing:
        raise ModelError(f"model card {path}: [files] gives no sha256 for {', '.join(missing)}")
    if not 1 <= card.head_tokens < card.max_tokens:
        raise ModelError(
            f"model card {path}: head_tokens must be from 1 to {card.max_tokens - 1} "
            f"(one less than max_tokens), not {card.head_tokens}"
        )


def find_card(model: str) -> Card:
    """The card of "default", an id or a card's path; anything else is a sentence-transformers model.

    Raises ModelError where the name is empty or the card at that path is not usable.
    """
    if model == "default":
        model = DEFAULT_MODEL
    cards = shipped_cards()
    if model in cards:
        return cards[model]
    if not model.strip():
        raise ModelError(f"the name of a model must not be empty; shipped: {', '.join(cards)}")
    if model.endswith(".toml"):
        return read_card(Path(model))
    return SentenceTransformersCard(id=model, source=model)


_verified: dict[Path, tuple[tuple[int, int, int], str]] = {}
"""State and sha256 of the files that this process has checked."""


def read_verified(card: OnnxCard, name: str) -> bytes:
    """A model file's content, checked against the card's sha256 once per process and change of the file.

    Raises ModelError where the file is missing, cut short or altered.
    """
    path, expected = card.folder / name, card.files[name]
    try:
        status = path.stat()
        content = path.read_bytes()
    except OSError as error:
        raise ModelError(f"model file {path} cannot be read: {error.strerror}. {_remedy(card)}") from error
    state = (status.st_size, status.st_mtime_ns, status.st_ino)
    if _verified.get(path) == (state, expected) and len(content) == status.st_size:
        return content
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise ModelError(
            f"model file {path} is not the one its card describes: {len(content):,} bytes, sha256 {found}, "
            f"expected {expected}. {_remedy(card)}"
        )
    _verified[path] = (state, expected)
    return content


def _remedy(card: OnnxCard) -> str:
    if Path(card.path).parent == cards_folder():
        return "Reinstall the package: pip install --force-reinstall --no-deps pi-rank"
    return f"Restore the file, or correct [files] in {card.path}"


def verify(card: OnnxCard) -> None:
    """Reads and checks every file of the card. Raises ModelError at the first that is missing or altered."""
    for name in card.files:
        read_verified(card, name)
