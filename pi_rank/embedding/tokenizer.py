"""Which tokens a text has: BERT's and unigram tokenizers are compiled, every other one is a tokenizers file.

A tokenizers file (tokenizer.json) that says what BERT's tokenizer does is run by the compiled one too.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import numpy as np

from pi_rank._core.unigram import Unigram
from pi_rank._core.wordpiece import WordPiece
from pi_rank.embedding.making.unigram_file import CONTROLS, MAGIC, SPACE, SPACES, tokenizers_file
from pi_rank.embedding.registry import read_verified
from pi_rank.embedding.texts import both_ends, readable
from pi_rank.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pi_rank.embedding.cards import FileCard
    from pi_rank.embedding.texts import Reading

    Ids = NDArray[np.int32]

_NMT = dict.fromkeys(CONTROLS) | dict.fromkeys(SPACES, " ")
MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_BERT = {
    "normalizer": {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    },
    "pre_tokenizer": {"type": "BertPreTokenizer"},
}
_WORDPIECE = {
    "type": "WordPiece",
    "unk_token": "[UNK]",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100,
}


class Tokenizer(Protocol):
    """Texts to token ids. Threads may share it; lone surrogates and very long texts are fine."""

    def __len__(self) -> int:
        """Number of token ids."""

    def plain(self, text: str) -> Sequence[int]:
        """Ids without the model's marks, however many."""

    def reading(self, text: str) -> Reading:
        """What the tokenizer knows of a text: most of its words, only letters of most, or next to nothing."""

    def encode(self, texts: Sequence[str], head: int, limit: int) -> tuple[Ids, Ids]:
        """Ids of all texts with marks, int32, and where each begins, int32[texts + 1].

        Of a long text the first `head`, then the last, `limit` in all: the end is where a prompt asks, after
        what was pasted into it.
        """


class BertTokenizer:
    """The compiled one, for tokens that are given a line each."""

    def __init__(self, strings: bytes) -> None:
        self._pieces = WordPiece(strings)
        self._strings = strings
        self._kinds: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self._pieces)

    def plain(self, text: str) -> Sequence[int]:
        """See `Tokenizer`."""
        ids: list[int] = self._pieces.tokens(both_ends(text)).tolist()
        return ids

    def reading(self, text: str) -> Reading:
        """See `Tokenizer`."""
        if text.isascii():
            return "words"
        if self._kinds is None:
            self._kinds = _kinds_of(self._strings.decode().split("\n"))
        tokens = self._pieces.tokens(both_ends(text))
        _, letters, unknown = np.bincount(self._kinds[tokens], minlength=3)
        if 2 * unknown > len(tokens):
            return "nothing"
        return "letters" if 2 * (letters + unknown) > len(tokens) else "words"

    def encode(self, texts: Sequence[str], head: int, limit: int) -> tuple[Ids, Ids]:
        """See `Tokenizer`."""
        return self._pieces.encode([both_ends(text) for text in texts], head=head, limit=limit)


class UnigramTokenizer:
    """The compiled one for a unigram file: XLM-RoBERTa's, and of other models trained with SentencePiece."""

    def __init__(self, content: bytes) -> None:
        self._pieces = Unigram(content)

    def __len__(self) -> int:
        return len(self._pieces)

    def plain(self, text: str) -> Sequence[int]:
        """See `Tokenizer`."""
        ids: list[int] = self._pieces.tokens(_with_marked_spaces(text)).tolist()
        return ids

    def reading(self, text: str) -> Reading:
        """See `Tokenizer`. Unigram vocabularies are made of all the languages that their model reads."""
        return "words"

    def encode(self, texts: Sequence[str], head: int, limit: int) -> tuple[Ids, Ids]:
        """See `Tokenizer`."""
        return self._pieces.encode([_with_marked_spaces(text) for text in texts], head=head, limit=limit)


def _kinds_of(strings: Sequence[str]) -> NDArray[np.uint8]:
    """By token of BERT's: 1 for a letter beyond ASCII alone, 2 for [UNK], else 0."""
    letters = [piece.removeprefix("##") for piece in strings]
    kinds = np.array([len(one) == 1 and not one.isascii() and one.isalnum() for one in letters], np.uint8)
    kinds[strings.index("[UNK]")] = 2
    return kinds


def _with_marked_spaces(text: str) -> bytes:
    """A text as SentencePiece's nmt_nfkc and its mark for spaces leave it, UTF-8."""
    text = readable(text)
    if not text.isascii() or not text.isprintable():
        text = unicodedata.normalize("NFKC", text.translate(_NMT))
    return "".join(SPACE + word for word in text.split(" ") if word).encode()


class TokenizersTokenizer:
    """A tokenizers file. Raises ModelError where it is none, or tokenizers is not installed."""

    def __init__(self, card: FileCard, content: bytes) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise ModelError(
                f"model {card.id} needs tokenizers, which is not installed: pip install 'pi-rank[onnx]'"
            ) from error
        try:
            self.file: Any = Tokenizer.from_buffer(content)
        except ValueError as error:
            raise ModelError(f"model {card.id}: tokenizer.json is not a tokenizers file: {error}") from error
        # Many such files pad and cut to 128 tokens: short texts get slow, long ones lose their end.
        self.file.no_padding()
        self.file.no_truncation()

    def __len__(self) -> int:
        size: int = self.file.get_vocab_size()
        return size

    def plain(self, text: str) -> Sequence[int]:
        """See `Tokenizer`."""
        ids: list[int] = self.file.encode(readable(text), add_special_tokens=False).ids
        return ids

    def reading(self, text: str) -> Reading:
        """See `Tokenizer`. Whether pieces are letters or words is not known here."""
        unknown = {self.file.token_to_id(mark) for mark in ("[UNK]", "<unk>")} - {None}
        ids = () if text.isascii() else self.plain(text)
        return "nothing" if 2 * sum(token in unknown for token in ids) > len(ids) else "words"

    def encode(self, texts: Sequence[str], head: int, limit: int) -> tuple[Ids, Ids]:
        """See `Tokenizer`."""
        found = [self.file.encode(readable(text)).ids for text in texts]
        kept = [ids if len(ids) <= limit else ids[:head] + ids[head - limit :] for ids in found]
        starts = np.cumsum([0, *map(len, kept)]).astype(np.int32)
        return np.array([token for ids in kept for token in ids], np.int32), starts


def shipped_tokenizer(strings: bytes) -> Tokenizer:
    """The tokenizer whose vocabulary an encoder file holds: a unigram file, or BERT's tokens, a line each.

    Raises ValueError, without a subject, where it is none.
    """
    return UnigramTokenizer(strings) if strings.startswith(MAGIC) else BertTokenizer(strings)


def shipped_tokenizers_file(strings: bytes) -> bytes:
    """The same as a tokenizers file."""
    return tokenizers_file(strings) if strings.startswith(MAGIC) else bert_file(strings)


def load_tokenizer(card: FileCard) -> Tokenizer:
    """The tokenizer of the card's tokenizer.json.

    Raises ModelError where the file is missing, altered, or no tokenizers file; or where it needs tokenizers,
    which is not installed.
    """
    content = read_verified(card, "tokenizer.json")
    strings = bert_strings(content)
    return TokenizersTokenizer(card, content) if strings is None else BertTokenizer(strings)


def bert_strings(content: bytes) -> bytes | None:
    """The tokens of a tokenizers file by id, a line each; None where it says what BERT's does not."""
    try:
        file = msgspec.json.decode(content, type=dict[str, Any])
        model = {key: value for key, value in file["model"].items() if key != "vocab"}
        ids: dict[str, int] = file["model"]["vocab"]
        added = {token["content"]: (token["id"], *_flags(token)) for token in file["added_tokens"]}
        single = [next(iter(part.values()))["id"] for part in file["post_processor"]["single"]]
        expected = {mark: (ids[mark], False, False, False, False) for mark in MARKS}
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError, StopIteration):
        return None
    same = all(file.get(key) == value for key, value in _BERT.items())
    lines = sorted(ids, key=ids.__getitem__)
    counted = [ids[line] for line in lines] == list(range(len(ids)))
    if not (same and model == _WORDPIECE and added == expected and single == ["[CLS]", "A", "[SEP]"]):
        return None
    return "\n".join(lines).encode() if counted and not any("\n" in line for line in lines) else None


def bert_file(strings: bytes) -> bytes:
    """The tokenizers file of `BertTokenizer(strings)`."""
    import json

    ids = {line: index for index, line in enumerate(strings.decode().split("\n"))}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    first, last = ({"SpecialToken": {"id": mark, "type_id": 0}} for mark in ("[CLS]", "[SEP]"))
    second = {"SpecialToken": {"id": "[SEP]", "type_id": 1}}
    a, b = ({"Sequence": {"id": name, "type_id": number}} for number, name in enumerate("AB"))
    special = {mark: {"id": mark, "ids": [ids[mark]], "tokens": [mark]} for mark in ("[CLS]", "[SEP]")}
    file = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": ids[mark], "special": True, "content": mark, **flags} for mark in MARKS],
        **_BERT,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [first, a, last],
            "pair": [first, a, last, b, second],
            "special_tokens": special,
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {**_WORDPIECE, "vocab": ids},
    }
    return json.dumps(file, ensure_ascii=False, separators=(",", ":")).encode()


def _flags(token: dict[str, Any]) -> tuple[bool, ...]:
    return tuple(bool(token[key]) for key in ("single_word", "lstrip", "rstrip", "normalized"))
