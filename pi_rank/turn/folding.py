"""Records that say the same take one place: the newest stands for them, and the others are named.

A record that another one of them supersedes is one of these as well, whatever it says.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pi_rank._core.alike import alike
from pi_rank._core.negative_scope import content_keys, tokenize
from pi_rank.turn.ranking import ID_SHARE, taken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy.typing as npt

    from pi_rank.memory.records import MemoryRecord
    from pi_rank.snapshot.snapshot import Snapshot
    from pi_rank.turn.ranking import Ranking
    from pi_rank.turn.selection import Choice

# Of the cosines of two records: paraphrases of one fact lie above it, different facts of one subject below.
SAME_COSINE = 0.83
# Of the words of two records that are not embedded: shared ones by all that either has.
SAME_WORDS = 0.8
LEAST_WORDS = 3  # in so few, one more or less is another statement
# Rows beyond those chosen that are looked at: the newest of a group may lie further down.
AHEAD = 6
# Each round folds what the one before brought up; a memory of more copies than this shows some of them.
MOST_ROUNDS = 32
# Without them a sentence says the opposite.
_NEGATIONS = frozenset("no not never nor none without except unless cannot t avoid".split())  # noqa: SIM905


class Folded(NamedTuple):
    """A ranking in which records that say the same have one place, and what is chosen of it.

    `others`: by row, which rows it stands for.
    """

    ranking: Ranking
    choice: Choice
    others: dict[int, list[int]]

    def named(self, snapshot: Snapshot) -> dict[str, list[str]]:
        """Record id → the ids of those that it stands for."""
        return {
            snapshot.ids[row]: [snapshot.ids[other] for other in rows] for row, rows in self.others.items()
        }


def folded(snapshot: Snapshot, ranking: Ranking, choose: Callable[[Ranking], Choice]) -> Folded:
    """The ranking without the rows that another one stands for, as far down as rows are chosen, and AHEAD.

    The newest of a group takes the place of its best. Rows that the query names by id stay as they are.
    """
    others: dict[int, list[int]] = {}
    choice = choose(ranking)
    for _ in range(MOST_ROUNDS):
        groups = _groups(snapshot, ranking, choice)
        if not groups:
            break
        ranking = _without_copies(snapshot, ranking, groups, others)
        choice = choose(ranking)
    return Folded(ranking, choice, others)


def _without_copies(
    snapshot: Snapshot, ranking: Ranking, groups: list[list[int]], others: dict[int, list[int]]
) -> Ranking:
    """One row of each group at the place of its best; the rest goes to `others`."""
    order = np.arange(len(ranking.rows))
    gone: list[int] = []
    for places in groups:
        rows: list[int] = ranking.rows[places].tolist()
        stands = _newest(snapshot, rows)
        order[places[0]] = places[stands]
        gone += places[1:]
        own = others.setdefault(rows[stands], [])
        for row in rows[:stands] + rows[stands + 1 :]:
            own += [row, *others.pop(row, [])]
    return taken(ranking, np.delete(order, gone))


def _groups(snapshot: Snapshot, ranking: Ranking, choice: Choice) -> list[list[int]]:
    """Places of rows that say the same, best first, two or more each.

    Greedy: a row joins the best one that it is like, and who has joined is none that others join.
    """
    by_id = 0 if ranking.named is None else int(np.count_nonzero(ranking.named >= ID_SHARE))
    shown = [place for place in choice.places if place >= by_id]
    places = shown + choice.next
    at_places = ranking.rows[places]
    rows: list[int] = at_places.tolist()
    pairs = set(_same(snapshot, at_places, rows, len(shown)))
    pairs.update(_successions(snapshot, rows[: len(shown)]))
    if not pairs:
        return []
    group_of = list(range(len(rows)))
    for first, second in sorted(pairs):
        if group_of[first] == first and group_of[second] == second:
            group_of[second] = first
    groups: dict[int, list[int]] = {}
    for at, group in enumerate(group_of):
        groups.setdefault(group, []).append(places[at])
    return [members for members in groups.values() if len(members) > 1]


def _same(
    snapshot: Snapshot, at_places: npt.NDArray[np.int32], rows: list[int], chosen: int
) -> Iterator[tuple[int, int]]:
    bare, vectors = list(range(chosen)), snapshot.vectors
    if vectors is not None:
        firsts, seconds, unknown = alike(vectors.table, at_places, SAME_COSINE)
        for first, second in zip(firsts.tolist(), seconds.tolist(), strict=True):
            if _interchangeable(snapshot, rows[first], rows[second]):
                yield first, second
        bare = unknown.tolist()
    if len(bare) < 2:
        return
    words = {place: frozenset(content_keys(snapshot.record(rows[place]).statement)) for place in bare}
    for first, second in combinations(bare, 2):
        one, two = words[first], words[second]
        shared = len(one & two)
        same = shared >= LEAST_WORDS and shared >= SAME_WORDS * len(one | two)
        equal = snapshot.columns.text[rows[first]] == snapshot.columns.text[rows[second]]
        if equal or (same and _interchangeable(snapshot, rows[first], rows[second])):
            yield first, second


def _interchangeable(snapshot: Snapshot, one: int, two: int) -> bool:
    """Whether either record may be left out for the other.

    Neither has a number, a name or a "not" that the other lacks; and they are not one sentence with another
    word in one place, or with two words exchanged, which are then what each of them is about.
    """
    if snapshot.columns.text[one] == snapshot.columns.text[two]:
        return True
    first, second = (snapshot.record(row) for row in (one, two))
    if first.rule_type != second.rule_type or first.layer != second.layer:
        return False
    if _telling(first.statement) != _telling(second.statement):
        return False
    words, others = (content_keys(record.statement) for record in (first, second))
    differing = sum(one != two for one, two in zip(words, others, strict=False))
    return len(words) != len(others) or differing not in (1, 2)


def _telling(statement: str) -> set[str]:
    """The words with a digit, the negations, and the words that are written as names, inside a sentence."""
    words = set(tokenize(statement))
    named = {word.casefold() for word in statement.split()[1:] if word[:1].isupper()}
    digits = {word for word in words if any(map(str.isdigit, word))}
    return digits | (words & _NEGATIONS) | {token for word in named for token in tokenize(word)}


def _successions(snapshot: Snapshot, rows: list[int]) -> Iterator[tuple[int, int]]:
    records = [snapshot.record(row) for row in rows]
    linked = [place for place, one in enumerate(records) if one.supersedes or one.superseded_by]
    if not linked:
        return
    place_of = {record.id: place for place, record in enumerate(records)}
    for place in linked:
        for other in (*records[place].supersedes, *records[place].superseded_by):
            at = place_of.get(other, place)
            if at != place:
                yield min(place, at), max(place, at)


def _newest(snapshot: Snapshot, members: list[int]) -> int:
    """Which of the members stands for all: one that no other supersedes, then the newest, then the best."""
    records = [snapshot.record(row) for row in members]
    current = without_superseded(records, records) or records
    return records.index(max(current, key=_moment))


def _moment(record: MemoryRecord) -> str:
    """When it was last written, in a form that sorts: ISO dates do; without one it is the oldest."""
    return record.updated_at or record.created_at or ""


def without_superseded(records: Iterable[MemoryRecord], beside: Iterable[MemoryRecord]) -> list[MemoryRecord]:
    """The records that none of those beside them supersedes."""
    asked = list(records)
    if not asked:
        return asked
    shown = list(beside)
    replaced = {other for record in shown for other in record.supersedes}
    ids = {record.id for record in shown} if any(one.superseded_by for one in asked) else set()
    return [one for one in asked if one.id not in replaced and not ids.intersection(one.superseded_by)]
