"""Texts of every Unicode block; `python -m tests.embedding.odd_texts` has a million of them cut into tokens.

The compiled WordPiece must give the ids that `tokenizers` gives. Prints one line, or the texts that differ.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path

BLOCK = 128
PIECES = (
    "[SEP]",
    "[CLS]",
    "[UNK",
    "##ing",
    "don't",
    "e\u0301",
    "\r\n",
    "\u200d",
    "\ufe0f",
    "İ",
    "ﬁ",
    "ß",
    "Σς",
    "…",
)
SURROGATES = ("\ud800", "\udc00", "\ud83d\ude00", "\ude00\ud83d")


def odd_text(draw: random.Random) -> str:
    """A text of one block, of several, of words with a stranger among them, or of what is odd in words."""
    kind = draw.randrange(5)
    blocks = [
        draw.choice((0, draw.randrange(0x3000 // BLOCK), draw.randrange(0x110000 // BLOCK))) for _ in range(3)
    ]
    parts = []
    for _ in range(draw.randrange(1, 14)):
        if kind == 0:
            parts.append(stranger(draw, blocks[0]))
        elif kind == 1:
            parts.append(stranger(draw, draw.choice(blocks)))
        elif kind == 2:
            parts.append(draw.choice((word(draw), " ", " ", stranger(draw, blocks[0]))))
        elif kind == 3:
            parts.append(draw.choice((word(draw), *PIECES, draw.choice(SURROGATES))))
        else:
            parts.append(word(draw) * draw.choice((1, 1, 3, 30)) + draw.choice((" ", "", "-")))
    return "".join(parts)


def stranger(draw: random.Random, block: int) -> str:
    return chr(block * BLOCK + draw.randrange(BLOCK))


def word(draw: random.Random) -> str:
    letters = draw.choice(
        ("etaoinshrdlu", "abcdefghijklmnopqrstuvwxyz", "ABCxyz0123456789", "éàüñçÅØ", "абвгде", "αβγδ")
    )
    return "".join(draw.choice(letters) for _ in range(draw.randrange(1, 9)))


def readable(text: str) -> str:
    """Surrogate pairs joined and lone ones replaced, because `tokenizers` takes neither."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def collections(folder: Path) -> list[str]:
    """All texts and queries of the BEIR collections below a folder."""
    found = []
    for path in sorted(folder.rglob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            found += [row[key] for key in ("title", "text") if isinstance(row.get(key), str)]
    return found


def main(argv: list[str]) -> int:
    from tests.embedding.tokenizers_oracle import oracle, shipped_pieces

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, help="BEIR collections whose texts are compared too")
    arguments = parser.parse_args(argv)
    ours, theirs, draw = shipped_pieces(), oracle(), random.Random(arguments.seed)
    began = time.perf_counter()
    texts = collections(arguments.data) if arguments.data else []
    given, differ = len(texts), []
    for number in range(given + arguments.texts):
        text = texts[number] if number < given else odd_text(draw)
        if ours.tokens(text).tolist() != theirs.encode(readable(text), add_special_tokens=False).ids:
            differ.append(text)
    for text in differ[:20]:
        print(ascii(text))
    seconds = time.perf_counter() - began
    print(
        f"{arguments.texts:,} odd texts and {given:,} of collections: {len(differ)} differ ({seconds:.0f} s)"
    )
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
