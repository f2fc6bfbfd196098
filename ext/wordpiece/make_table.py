"""Writes table.inc: what BERT's normalizer and pre-tokenizer make of each code point, as `tokenizers` says.

Run it as `python ext/wordpiece/make_table.py`; `--check` compares with what is there. Asking, instead of
reading Python's `unicodedata`, makes the table the same with every Python, and the same as `tokenizers`,
which mixes versions of Unicode: letters of one and marks of another.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import tokenizers
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

TABLE = Path(__file__).with_name("table.inc")
LETTER, DROPPED, SPACE, ALONE, SEVERAL = range(5)
HANGUL = range(0xAC00, 0xAC00 + 11172)  # taken apart by arithmetic


class Run(NamedTuple):
    """Code points first, first + step, …, last, and their fate: `kind`, and the distance to the result."""

    first: int
    last: int
    step: int
    kind: int
    distance: int


def main() -> None:
    content = table()
    if "--check" in sys.argv[1:]:
        sys.exit(TABLE.read_text(encoding="ascii") != content)
    TABLE.write_text(content, encoding="ascii", newline="\n")


def table() -> str:
    """The file's content."""
    found, several = {}, []
    for code in range(0x110000):
        if not 0xD800 <= code < 0xE000 and code not in HANGUL:
            kind, result = fate(chr(code))
            if kind == SEVERAL:
                several.append(result)
                found[code] = (SEVERAL, len(several) - 1)
            elif (kind, result) != (LETTER, chr(code)):
                found[code] = (kind, ord(result) - code if result else 0)
    lines = [
        f"// Written by make_table.py with tokenizers {tokenizers.__version__}: what BERT's normalizer and "
        "pre-tokenizer make of each",
        "// code point that they do not leave alone. {first, last, step, kind, distance to the result}.",
        "constexpr Run RUNS[] = {",
        *packed(f"{{{r.first:#x},{r.last:#x},{r.step},{r.kind},{r.distance}}}" for r in runs(found)),
        "};",
        "constexpr uint32_t SEVERAL_RESULTS[][3] = {",
        *packed("{" + ",".join(hex(ord(c)) for c in result.ljust(3, "\0")) + "}" for result in several),
        "};",
    ]
    return "\n".join(lines) + "\n"


_normalizer, _pre_tokenizer = BertNormalizer(), BertPreTokenizer()


def fate(char: str) -> tuple[int, str]:
    """What becomes of a character between two letters: its kind, and the characters it turns into."""
    words = [word for word, _ in _pre_tokenizer.pre_tokenize_str(_normalizer.normalize_str(f"a{char}b"))]
    if words == ["ab"]:
        return DROPPED, ""
    if words == ["a", "b"]:
        return SPACE, ""
    if len(words) == 3 and len(words[1]) == 1 and (words[0], words[2]) == ("a", "b"):
        return ALONE, words[1]
    (word,) = words
    result = word[1:-1]
    assert len(result) <= 3
    return (LETTER, result) if len(result) == 1 else (SEVERAL, result)


def runs(found: dict[int, tuple[int, int]]) -> list[Run]:
    """The fewest runs that a greedy look finds, in ascending order; they do not overlap."""
    left, made = dict(found), []
    for code in sorted(found):
        if code not in left:
            continue
        kind, distance = left[code]
        ends = dict.fromkeys((1, 2), code)
        for step in ends:
            while left.get(ends[step] + step) == (kind, distance) and kind != SEVERAL:
                ends[step] += step
                if step == 2 and ends[step] - 1 in left:  # a run of step 2 holds no other's code points
                    ends[step] -= step
                    break
        step = 1 if ends[1] > code or ends[2] == code else 2
        made.append(Run(code, ends[step], step, kind, distance))
        for member in range(code, ends[step] + 1, step):
            del left[member]
    return made


def packed(items: object) -> list[str]:
    lines = [""]
    for item in items:  # type: ignore[attr-defined]
        if len(lines[-1]) + len(item) > 118:
            lines.append("")
        lines[-1] += f"{item},"
    return lines


if __name__ == "__main__":
    main()
