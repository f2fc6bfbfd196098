"""Records as columns: the few facts that filtering and selection read, one array per fact."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from pi_rank.context import PROJECT_PROFILE, project_key
from pi_rank.memory.project import slug
from pi_rank.memory.records import Scope
from pi_rank.memory.rules import is_hard_rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from pi_rank.store.rows import StoredRow

STATUS_CODES = {"active": 0, "contested": 1, "deprecated": 2, "superseded": 3, "promoted": 4, "deleted": 5}
ACTIVE, CONTESTED, TOMBSTONED = 0, 1, 6
STATUS_NAMES = (*STATUS_CODES, "tombstoned")  # by code
LAYER_CODES = {"L1": 1, "L2": 2, "L3": 3}
NO_PROFILE = 0
NO_READER = 0
ANY_PROJECT = -1
FIRST_DAY, LAST_DAY = date.min.toordinal(), date.max.toordinal()


class Columns(NamedTuple):
    """One array per fact, indexed by row.

    `status`, `layer`: uint8 codes. `profile`: int32, 0 for none. `project`: int32, -1 where the project does
    not matter. `confidence`: float64. `hard_rule`: bool, true where only eligibility decides whether the
    record is shown as a hard rule. `text`: int32, equal for records whose embedded text is equal. `readers`:
    int32, the agents that read the record by themselves, 0 for none. `valid_from`, `valid_to`: int32, its
    first and last day, as `date.toordinal` counts them.
    """

    status: npt.NDArray[np.uint8]
    layer: npt.NDArray[np.uint8]
    profile: npt.NDArray[np.int32]
    project: npt.NDArray[np.int32]
    confidence: npt.NDArray[np.float64]
    hard_rule: npt.NDArray[np.bool_]
    text: npt.NDArray[np.int32]
    readers: npt.NDArray[np.int32]
    valid_from: npt.NDArray[np.int32]
    valid_to: npt.NDArray[np.int32]

    def of(self, rows: npt.NDArray[np.int32]) -> Columns:
        """Some of these rows."""
        columns: Iterable[npt.NDArray[Any]] = self
        return Columns(*(column[rows] for column in columns))

    def followed_by(self, other: Columns) -> Columns:
        """These rows, then the other's."""
        pairs: Iterable[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = zip(self, other, strict=True)
        return Columns(*map(np.concatenate, pairs))


class Codebook:
    """Names → small integers, given out in order of first sight and never taken back.

    Successive snapshots share one: a code that a later snapshot adds names no row of an earlier one.
    """

    def __init__(self, first: int = 0, names: Iterable[str | bytes] = ()) -> None:
        self._codes = {name: code for code, name in enumerate(names, first)}
        self._first = first

    def add(self, name: str | bytes) -> int:
        """The code of a name, new or known."""
        return self._codes.setdefault(name, self._first + len(self._codes))

    def get(self, name: str | bytes) -> int | None:
        """The code of a known name, else None."""
        return self._codes.get(name)

    def names(self) -> list[Any]:
        """All names, in order of their codes: what a new codebook of the same codes is made of."""
        return list(self._codes)

    def __len__(self) -> int:
        return len(self._codes)


class Codebooks(NamedTuple):
    """The names behind the coded columns. `readers`: of agents, each followed by a space."""

    profiles: Codebook
    projects: Codebook
    texts: Codebook
    readers: Codebook

    @classmethod
    def of(
        cls,
        profiles: Iterable[str] = (),
        projects: Iterable[str] = (),
        texts: Iterable[bytes] = (),
        readers: Iterable[str] = (),
    ) -> Codebooks:
        """Codebooks of these names in order of their codes; of none for a store that nobody has read yet."""
        return cls(
            Codebook(NO_PROFILE + 1, profiles),
            Codebook(0, projects),
            Codebook(0, texts),
            Codebook(NO_READER + 1, readers),
        )


class _Fields(msgspec.Struct, rename={"rule_type": "ruleType"}):
    """The part of a stored record that becomes columns; decoding all of it takes three times as long."""

    layer: str
    status: str
    confidence: float
    statement: str
    tags: tuple[str, ...] = ()
    scope: Scope = Scope()
    profile_id: str | None = None
    rule_type: str | None = None
    does_not_apply_when: tuple[str, ...] = ()
    known_exceptions: tuple[str, ...] = ()
    read_by: Any = None  # of a key that is not PI's, anything may be found
    applies_when: tuple[str, ...] = ()
    valid_from: str | None = None
    valid_to: str | None = None


_decode = msgspec.json.Decoder(_Fields).decode


class Phrases(NamedTuple):
    """What a record says of when it applies: `against`, in the order they are tried, and `wanted`."""

    against: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()


class Texts(NamedTuple):
    """By row: the phrases, and where names are looked for."""

    phrases: list[Phrases]
    named_in: list[str]


def read_columns(rows: Sequence[StoredRow], books: Codebooks) -> tuple[Columns, Texts]:
    """The columns of stored rows, and their texts."""
    fields = [_decode(row.payload) for row in rows]
    status = [
        TOMBSTONED if row.tombstoned else STATUS_CODES[f.status] for row, f in zip(rows, fields, strict=True)
    ]
    columns = Columns(
        status=np.array(status, np.uint8),
        layer=np.array([LAYER_CODES[f.layer] for f in fields], np.uint8),
        profile=np.array(
            [books.profiles.add(f.profile_id) if f.profile_id else NO_PROFILE for f in fields], np.int32
        ),
        project=np.array([_project_code(f, books.projects) for f in fields], np.int32),
        confidence=np.array([f.confidence for f in fields], np.float64),
        hard_rule=np.array(
            [is_hard_rule(f) and not row.tombstoned for row, f in zip(rows, fields, strict=True)], np.bool_
        ),
        text=np.array([books.texts.add(row.text_hash) for row in rows], np.int32),
        readers=np.array([_readers_code(f.read_by, books.readers) for f in fields], np.int32),
        valid_from=np.array([_day(f.valid_from, FIRST_DAY) for f in fields], np.int32),
        valid_to=np.array([_day(f.valid_to, LAST_DAY) for f in fields], np.int32),
    )
    named_in = ["\n".join((f.statement, *f.tags)) if f.tags else f.statement for f in fields]
    return columns, Texts([_phrases(f) for f in fields], named_in)


def read_phrases(payload: bytes) -> Phrases:
    """The phrases of a stored record."""
    return _phrases(_decode(payload))


def _phrases(fields: _Fields) -> Phrases:
    return Phrases(fields.does_not_apply_when + fields.known_exceptions, fields.applies_when)


def _day(text: str | None, default: int) -> int:
    """The day of an ISO date or time; one that is neither bounds nothing."""
    if text is None:
        return default
    try:
        return date.fromisoformat(text[:10]).toordinal()
    except ValueError:
        return default


def _project_code(fields: _Fields, projects: Codebook) -> int:
    if fields.layer == "L1" or fields.scope.type != "project" or fields.scope.names_no_project:
        return ANY_PROJECT
    return projects.add(project_key(fields.scope.project or ""))


def _readers_code(read_by: object, readers: Codebook) -> int:
    names = [name for name in read_by if isinstance(name, str)] if isinstance(read_by, list) else []
    return readers.add("".join(f"{name} " for name in sorted(names))) if names else NO_READER


class PlaceMasks(NamedTuple):
    """Status, profile and project as cumulative bool masks over rows, the same for every turn in one place.

    `active`: records of that status, on a day that they are valid. `counts`: records alive, then left after
    status, profile and project. `contested`: the contested records that belong to the place.
    `read_by_itself`: the rows of the place that the agent reads without our help. `by_pi_profile`,
    `by_pi_project`: int32, rows left after profile, or project, for no other reason than that they carry PI's
    own id of the project.
    """

    active: npt.NDArray[np.bool_]
    in_profile: npt.NDArray[np.bool_]
    in_project: npt.NDArray[np.bool_]
    contested: npt.NDArray[np.bool_]
    counts: tuple[int, int, int, int]
    read_by_itself: npt.NDArray[np.bool_]
    by_pi_profile: npt.NDArray[np.int32]
    by_pi_project: npt.NDArray[np.int32]


def place_masks(
    columns: Columns,
    live: npt.NDArray[np.bool_],
    books: Codebooks,
    profile_id: str | None,
    projects: frozenset[str],
    pi_project_id: str | None = None,
    reader: str | None = None,
    day: int | None = None,
) -> PlaceMasks:
    """Which rows may speak for a profile (None: none is known) in projects of these keys.

    :param pi_project_id: PI's own id of the project, where it is another one.
    :param reader: the agent that the turn is for: what it reads by itself is left out.
    :param day: the turn's, as `date.toordinal` counts it; None where no record is bound to days.
    """
    own_profile = _holds(columns.profile, NO_PROFILE, books.profiles, filter(None, [profile_id]))
    own_project = _holds(columns.project, ANY_PROJECT, books.projects, projects)
    of_profile, of_project = own_profile, own_project
    if pi_project_id:
        pi_profile = f"{PROJECT_PROFILE}{pi_project_id}"
        of_profile = own_profile | _holds(columns.profile, NO_PROFILE, books.profiles, [pi_profile])
        of_project = own_project | _holds(columns.project, ANY_PROJECT, books.projects, [slug(pi_project_id)])
    read = np.isin(columns.readers, _codes_of(reader, books.readers))
    valid = live if day is None else live & (columns.valid_from <= day) & (day <= columns.valid_to)
    active = valid & (columns.status == ACTIVE)
    in_profile = active & of_profile
    in_project = in_profile & of_project & ~read
    contested = valid & (columns.status == CONTESTED) & of_profile & of_project & ~read
    counts = tuple(int(np.count_nonzero(mask)) for mask in (live, active, in_profile, in_project))
    return PlaceMasks(
        active,
        in_profile,
        in_project,
        contested,
        counts,  # type: ignore[arg-type]
        read_by_itself=in_profile & of_project & read,
        by_pi_profile=np.flatnonzero(in_profile & ~own_profile).astype(np.int32),
        by_pi_project=np.flatnonzero(in_project & ~own_project).astype(np.int32),
    )


def _codes_of(reader: str | None, readers: Codebook) -> list[int]:
    """The codes of those sets of agents that this one is in."""
    if not reader:
        return []
    return [code for code, names in enumerate(readers.names(), NO_READER + 1) if reader in names.split()]


def _holds(
    column: npt.NDArray[np.int32], always: int, book: Codebook, names: Iterable[str]
) -> npt.NDArray[np.bool_]:
    """Where a column holds `always`, or the code of one of the names."""
    codes = (book.get(name) for name in names)
    return np.isin(column, [always, *(code for code in codes if code is not None)])
