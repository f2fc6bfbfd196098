"""Model cards (models/*.toml): which embedding models there are, their files, and how to run them."""

from __future__ import annotations

import hashlib
import mmap
import os
from pathlib import Path

import msgspec

from pi_rank.embedding.cards import Card, EncoderCard, FileCard, SentenceTransformersCard
from pi_rank.errors import ModelError

DEFAULT_MODEL = "minilm-l6-int8"


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
    if card.problem:
        raise ModelError(f"model card {path}: {card.problem}")
    return msgspec.structs.replace(card, path=str(path.resolve()))


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
        return read_card(Path(model).expanduser())
    return SentenceTransformersCard(id=model, source=model)


def find_written_card(model: str) -> Card:
    """The card that somebody wrote: "default", a shipped id or a card's path.

    Raises ModelError, naming the shipped ones, for any other name, and as `find_card`.
    """
    card = find_card(model)
    if isinstance(card, SentenceTransformersCard) and not card.path:
        raise ModelError(
            f"there is no card of {model}; shipped: {', '.join(shipped_cards())}; "
            "one of your own is named by its path, ending in .toml"
        )
    return card


def lasting_name(model: str) -> str:
    """A name that finds the same model from any working directory: paths are made absolute."""
    if model == "default" or model in shipped_cards():
        return model
    path = Path(model).expanduser()
    return str(path.resolve()) if model.endswith(".toml") or path.is_dir() else model


_verified: dict[Path, tuple[tuple[int, int, int], str]] = {}
"""State and sha256 of the files that this process has checked."""


def read_verified(card: FileCard, name: str) -> bytes:
    """A model file's content, checked against the card's sha256 once per process and change of the file.

    Raises ModelError where the file is missing, cut short or altered.
    """
    path, expected = card.file(name), card.files[name]
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


def map_verified(card: EncoderCard, name: str) -> mmap.mmap:
    """A model file mapped into memory, checked against the card's checksum as `read_verified` does it.

    Its pages are the file's own: processes share them. Raises ModelError as `read_verified`.
    """
    from pi_rank._core.encoder import checksum

    path = card.file(name)
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if status.st_size else None
    except OSError as error:
        raise ModelError(f"model file {path} cannot be read: {error.strerror}. {_remedy(card)}") from error
    state = (status.st_size, status.st_mtime_ns, status.st_ino)
    if content is not None and _verified.get(path) == (state, card.checksum):
        return content
    found = checksum(content or b"")
    if content is None or found != card.checksum:
        raise ModelError(
            f"model file {path} is not the one its card describes: {status.st_size:,} bytes, "
            f"checksum {found}, expected {card.checksum}. {_remedy(card)}"
        )
    _verified[path] = (state, card.checksum)
    return content


def _remedy(card: FileCard) -> str:
    if isinstance(card, EncoderCard) and card.download is not None:
        return f"Fetch the model: pi-rank models fetch {card.id} ({card.download.megabytes} MB)"
    if Path(card.path).parent == cards_folder():
        return "Reinstall the package: pip install --force-reinstall --no-deps pi-rank"
    return f"Restore the file, or correct [files] in {card.path}"


def verify(card: FileCard) -> None:
    """Reads and checks every file of the card. Raises ModelError at the first that is missing or altered."""
    for name in card.files:
        read_verified(card, name)
