"""Names in texts, and the rows that hold those of a query, by comparing strings instead of keys."""

from __future__ import annotations

import re
import unicodedata

from pi_rank.words import FUNCTION_WORDS

MARKS = "_./\\-:#@+~$"
QUOTES = ("`", "'", '"')
WHOLE, RUN, PARTS, CANDIDATE = 6.0, 4.0, 2.0, 0.0
MOST_BYTES, MOST_RUNS, MOST_PARTS = 256, 8, 4
MOST_NAMES, MOST_WORDS, MOST_ROWS, MOST_SPOKEN, MOST_COMMON = 64, 128, 100, 8, 3
# A capital letter begins a part: after another character, or before two small ones.
_CUT = re.compile(r"(?<=[^A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?:[a-z]|[^\x00-\x7f]){2})")


def prepared(text):
    """ASCII as it stands; of the rest, letters folded, and a blank for each other character."""
    if text.isascii():
        return text
    return "".join(_folded(character) for character in unicodedata.normalize("NFKC", text))


def _folded(character):
    kind = unicodedata.category(character)
    if character.isascii():
        return character
    if kind == "Cf":
        return ""
    return character.casefold() if character.isalnum() or kind[0] == "M" else " "


def _is_word(character):
    return character.isalnum() if character.isascii() else True


class Piece:
    """A word or a name: `whole` as written, `core` without the marks around it, its runs and its parts."""

    def __init__(self, text, offset=0):
        self.offset = offset
        begin = next((i for i, c in enumerate(text) if _is_word(c) or c == "_"), len(text))
        end = len(text)
        while end > begin and not (_is_word(text[end - 1]) or text[end - 1] in "_+#"):
            end -= 1
        self.whole, self.core = text[:end], text[begin:end]
        found = re.finditer(rf"[^{re.escape(MARKS)}]+", self.core)
        spans = [match.span() for match in found] if len(self.whole.encode()) <= MOST_BYTES else []
        self.spans = spans
        self.runs = [self.core[a:b] for a, b in spans]
        self.parts = [part for run in self.runs for part in _CUT.split(run)]
        self.is_camel = len(self.parts) > len(self.runs)
        self.is_name = bool(spans) and self._looks_like_a_name()
        self.is_common = self.is_name and self._looks_common()

    def _looks_like_a_name(self):
        digits = sum(c in "0123456789" for run in self.runs for c in run)
        letters = sum(len(run.encode()) for run in self.runs) - digits
        led = self.whole != self.core
        if digits and (letters or digits >= 3 or len(self.runs) > 1):
            return True
        if digits and led and self.whole[: -len(self.core)].endswith("#"):
            return True
        (first, _), (_, last) = self.spans[0], self.spans[-1]
        if self.is_camel or first > 0 or last < len(self.core):
            return True
        word = any(len(run.encode()) > 1 and lower(run) not in FUNCTION_WORDS for run in self.runs)
        return word and (len(self.runs) > 1 or led)

    def _looks_common(self):
        core, runs = self.core, self.runs
        lead = self.whole[: -len(core)]
        if "_" in core or lead[-1:] in ("@", "#") or len(lead) > 1:
            return False
        if len(core.encode()) <= 3:
            return True
        hyphens = all(_is_word(c) or c == "-" for c in core)
        if not re.search("[0-9]", core):
            if not self.is_camel:
                return not re.fullmatch(r"[^:]+::[^:]+", core) if len(runs) <= 2 else hyphens
            if len(runs) > 1:
                return False
            first = self.parts[0]
            return len(self.parts) == 2 if "A" <= first[0] <= "Z" else len(first.encode()) == 1
        if all(run.isdigit() for run in runs):
            return len(runs) <= 2
        if len(runs) == 1:
            return bool(re.fullmatch("[0-9]+(st|nd|rd|th)", runs[0]))
        return len(runs) == 2 and hyphens and bool(re.fullmatch(r"[0-9]+-+[a-z\u0080-\U0010ffff]+", core))

    def sub_runs(self):
        """Proper sub-runs, longest first."""
        count = len(self.runs)
        for length in range(count, 0, -1):
            for first in range(count - length + 1):
                if count > MOST_RUNS and first and first + length != count:
                    continue
                sub = self.core[self.spans[first][0] : self.spans[first + length - 1][1]]
                if sub != self.core:
                    yield sub

    def content(self):
        kept = [lower(part) for part in self.parts if lower(part) not in FUNCTION_WORDS]
        return kept if len(kept) >= 2 else [lower(part) for part in self.parts]


def lower(text):
    return "".join(c.lower() if c.isascii() else c for c in text)


def pieces(text):
    text = prepared(text)
    for match in re.finditer(rf"(?:[{re.escape(MARKS)}A-Za-z0-9]|[^\x00-\x7f])+", text):
        for piece in _pieces_of(match.group()):
            begin = match.start() + piece.offset
            before, after = text[:begin], text[begin + len(piece.whole) :]
            quoted = before[-1:] in QUOTES and after[:1] in QUOTES
            piece.stands_out = quoted or not any(map(_is_word, before + after))
            yield piece


def _pieces_of(whole):
    piece = Piece(whole)
    high = not whole.isascii()
    if piece.runs and (not high or (piece.is_name and len(piece.runs) > 1)):
        yield piece
    alone = (
        Piece(match.group(), match.start()) for match in re.finditer(r"[\x00-\x7f]+", whole if high else "")
    )
    yield from (each for each in alone if each.runs)


def names_in(text):
    return [piece.whole for piece in pieces(text) if piece.is_name]


def _windows(parts):
    for length in range(2, min(MOST_PARTS, len(parts)) + 1):
        for first in range(len(parts) - length + 1):
            yield tuple(parts[first : first + length])


class Holdings:
    """The names of one row, in each form in which they are looked for."""

    def __init__(self, text):
        self.whole, self.runs, self.letters = set(), set(), set()
        self.order, self.parts, self.spoken, self.spoken_all = set(), set(), set(), set()
        for piece in pieces(text):
            if piece.is_name:
                self._add(piece)

    def _add(self, piece):
        self.whole |= {lower(piece.core), lower(piece.whole)}
        self.runs |= {lower(sub) for sub in piece.sub_runs() if Piece(sub).is_name}
        self.letters.add(lower("".join(piece.runs)))
        content = piece.content()
        if len(content) >= 2:
            self.order.add(tuple(content))
            self.parts |= set(_windows(content))
        if piece.is_camel and len(content) >= 2:
            self.spoken_all.add(tuple(content))
            self.spoken |= set(_windows(content))


def find(texts, query, eligible):
    """{row: (share, whole)}."""
    held = [Holdings(text) for text in texts]
    found = {}

    def add(form, key, share, most=MOST_ROWS):
        rows = [row for row, each in enumerate(held) if eligible[row] and key in getattr(each, form)]
        if not 0 < len(rows) <= most:
            return False
        for row in rows:
            found[row] = max(found.get(row, 0.0), share)
        return True

    names, words = 0, []
    for piece in pieces(query):
        if piece.is_name and names < MOST_NAMES:
            names += 1
            if piece.is_common and not piece.stands_out:
                add("whole", lower(piece.core), CANDIDATE, MOST_COMMON)
            else:
                _add_name(piece, add)
        own = [lower(part) for part in piece.parts if lower(part) not in FUNCTION_WORDS]
        words += [None] if piece.is_name else own
        if len(words) >= MOST_WORDS:
            break
    _add_spoken(words[:MOST_WORDS], held, add)
    return {row: (share, share >= RUN) for row, share in sorted(found.items())}


def _add_spoken(words, held, add):
    for first in range(len(words)):
        for length in range(2, min(MOST_PARTS, len(words) - first) + 1):
            key = tuple(words[first : first + length])
            if None in key or not any(key in each.spoken for each in held):
                break
            add("spoken", key, CANDIDATE, MOST_SPOKEN)
            if length > 2:
                add("spoken_all", key, PARTS, MOST_SPOKEN)


def _add_name(piece, add):
    core, content = lower(piece.core), tuple(piece.content())
    done = [add("whole", lower(piece.whole), WHOLE)]
    if piece.whole != piece.core:
        done.append(add("whole", core, RUN))
    done += [add("runs", core, RUN), add("letters", lower("".join(piece.runs)), PARTS)]
    if len(content) >= 2:
        done.append(add("order", content, PARTS))
        if len(content) <= MOST_PARTS:
            done.append(add("parts", content, PARTS))
    if any(done):
        return
    longest = 0
    for sub in piece.sub_runs():
        size = len(sub.encode())
        if size < longest or not Piece(sub).is_name:
            continue
        if add("whole", lower(sub), PARTS) or add("runs", lower(sub), PARTS):
            longest = size


def put_first(ranked, named, shares, returning):
    """(rows, places, shares of the first ones)."""
    place_of = {row: place for place, row in enumerate(ranked)}
    kept = [i for i, row in enumerate(named) if row in place_of or returning[i]]
    first = [i for i in kept if shares[i] > 0]
    first.sort(key=lambda i: (-shares[i], place_of.get(named[i], len(ranked) + i)))
    leading = {named[i] for i in first}
    rows = [named[i] for i in first]
    rows += [row for row in ranked if row not in leading]
    rows += [named[i] for i in kept if not shares[i] and named[i] not in place_of]
    return rows, [place_of.get(row, -1) for row in rows], [shares[i] for i in first]
