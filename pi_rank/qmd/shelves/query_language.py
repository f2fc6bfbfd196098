"""The two query languages of qmd: words with phrases and exclusions, and documents of typed lines."""

from __future__ import annotations

import re
from typing import NamedTuple

from pi_rank.folding import query_text
from pi_rank.qmd.errors import QmdError
from pi_rank.words import FUNCTION_WORDS

# Of one query: a prompt of 100 kB is a question with something pasted into it.
MAX_TERMS = 64
MAX_CHARACTERS = 2048
_PUNCTUATION = "?!.,:;()[]{}<>'\"`"
_PIECE = re.compile(r'(-?)"([^"]*)"|(\S+)')
_TYPED_LINE = re.compile(r"\s*(lex|vec|hyde|intent|expand)\s*:\s*(.*)$", re.IGNORECASE)


class Lexical(NamedTuple):
    """A lexical query as FTS5 expressions, one for each term, and as the words to look for in a text."""

    wanted: tuple[str, ...]
    excluded: tuple[str, ...]
    words: tuple[str, ...]


class Search(NamedTuple):
    """One line of a structured query."""

    type: str
    query: str


class Document(NamedTuple):
    """A structured query: its searches in order, and what they are for."""

    searches: tuple[Search, ...]
    intent: str | None


def parse_lexical(text: str) -> Lexical:
    """Words are beginnings, "phrases" are verbatim, -words and -"phrases" are excluded.

    Where nothing but exclusions is asked for, they are taken for words: `--help me` and `-deploy` are
    questions. Only the first `MAX_TERMS` terms of the first `MAX_CHARACTERS` characters count.
    """
    text = text[:MAX_CHARACTERS]
    wanted: list[str] = []
    excluded: list[str] = []
    words: list[str] = []
    plain: list[tuple[str, str]] = []
    for dash, phrase, word in _PIECE.findall(text.replace("\0", " ")):
        negative = bool(dash) or (len(word) > 1 and word[0] == "-" and word[1] != "-")
        term = phrase.strip() or word.strip('-"')
        expression = _expression(term, prefix=not phrase.strip())
        if not expression:
            continue
        (excluded if negative else wanted).append(expression)
        plain.append((expression, term))
        if not negative:
            words.append(term)
    if not wanted:
        wanted, excluded = [expression for expression, _ in plain], []
        words = [term for _, term in plain]
    return Lexical(_distinct(wanted), _distinct(excluded), _distinct(words))


def telling_words(text: str) -> tuple[str, ...]:
    """The words by which a reader sees that a line answers the query: no exclusions, no function words."""
    document = parse_document(text)
    lines = [each.query for each in document.searches] if document else [text]
    words = [word.strip(_PUNCTUATION) for line in lines for word in parse_lexical(line).words]
    telling = [word for word in words if word and word.lower() not in FUNCTION_WORDS]
    return tuple(telling or words)


def natural_language(text: str) -> bool:
    """Whether the text uses nothing of the lexical language, so that asking for any of its words is fair."""
    text = text[:MAX_CHARACTERS]
    return '"' not in text and not re.search(r"(?:^|\s)-\w", text)


def parse_document(text: str) -> Document | None:
    """The structured query that the text is, or None: a plain question.

    :raises QmdError: it has an intent and nothing to search for.
    """
    lines = [line for line in text.replace("\0", " ").splitlines() if line.strip()]
    if not lines or not _TYPED_LINE.match(lines[0]):
        return None
    searches: list[Search] = []
    intent = None
    for line in lines:
        typed = _TYPED_LINE.match(line)
        if typed is None:  # a long passage goes on over several lines
            searches[-1:] = [each._replace(query=f"{each.query}\n{line.strip()}") for each in searches[-1:]]
        elif typed[1].lower() == "intent":
            intent = typed[2].strip()
        elif typed[2].strip():
            searches.append(Search(typed[1].lower(), typed[2].strip()))
    if not searches:
        raise QmdError("An intent does not search by itself; add a lex:, vec: or hyde: line.")
    return Document(tuple(searches), intent)


def match_all(lexical: Lexical) -> str:
    """The FTS5 expression for documents with every term and no excluded one."""
    return _without(" AND ".join(lexical.wanted), lexical.excluded)


def match_any(expressions: tuple[str, ...], excluded: tuple[str, ...]) -> str:
    """The FTS5 expression for documents with any of the terms and no excluded one."""
    return _without(" OR ".join(expressions), excluded)


def _without(wanted: str, excluded: tuple[str, ...]) -> str:
    return f"({wanted}) NOT ({' OR '.join(excluded)})" if wanted and excluded else wanted


def _expression(term: str, *, prefix: bool) -> str:
    """A quoted FTS5 phrase; nothing for a term without a letter or digit, which FTS5 cannot find."""
    text = " ".join(query_text(term).replace('"', " ").split()[:MAX_TERMS])
    if not any(character.isalnum() for character in text):
        return ""
    return f'"{text}"*' if prefix else f'"{text}"'


def _distinct(items: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))[:MAX_TERMS]
