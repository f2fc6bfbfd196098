"""BERT's tokenizer in Python, with the Unicode of `unicodedata` and not that of `tokenizers`."""

from __future__ import annotations

import re
import unicodedata

MARKS = ("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]")
LONGEST_WORD = 100
CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),  # tokenizers' own figures
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def tokens(text, vocabulary):
    """Ids of a text without marks; `vocabulary` is ids by string."""
    found = []
    for part in re.split("(" + "|".join(map(re.escape, MARKS)) + ")", text):
        if part in MARKS:
            found.append(vocabulary[part])
        else:
            for word in words(normalised(part)):
                found += pieces(word, vocabulary)
    return found


def normalised(text):
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    kept = []
    for char in text:
        if char in "\t\n\r" or char.isspace():
            # Python takes the four separators from 0x1C on for spaces; they are control characters.
            kept.append("" if char in "\x1c\x1d\x1e\x1f\x0b\x0c\x85" else " ")
        elif char == "\ufffd" or unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs"):
            continue
        elif any(low <= ord(char) <= high for low, high in CHINESE):
            kept.append(f" {char} ")
        else:
            kept.append(char)
    bare = "".join(
        char for char in unicodedata.normalize("NFD", "".join(kept)) if unicodedata.category(char) != "Mn"
    )
    return "".join(char.lower() for char in bare)


def words(text):
    for run in text.split(" "):
        word = ""
        for char in run:
            if char in "$+<=>^`|~" or unicodedata.category(char)[0] == "P":
                yield word
                yield char
                word = ""
            else:
                word += char
        yield word


def pieces(word, vocabulary):
    if len(word) > LONGEST_WORD:
        return [vocabulary["[UNK]"]]
    found, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocabulary:
                found.append(vocabulary[piece])
                start = end
                break
        else:
            return [vocabulary["[UNK]"]]
    return found
