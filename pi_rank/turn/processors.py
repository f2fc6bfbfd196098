"""The four processors that decide which records may speak in a turn, each with a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pi_rank.context import PROJECT_PROFILE, folder_keys, project_keys
from pi_rank.results import ProcessorTrace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import date

    import numpy.typing as npt

    from pi_rank.context import SessionContext
    from pi_rank.memory.records import MemoryRecord
    from pi_rank.snapshot.columns import PlaceMasks
    from pi_rank.snapshot.snapshot import Snapshot

    Rows = npt.NDArray[np.int32]


class Eligibility(NamedTuple):
    """Who may speak in one turn, as masks over the snapshot's rows that belong to the caller.

    `eligible`: uint8, passed all four processors. `contested`: uint8, contested records that pass the
    profile, project and negative-scope checks.
    """

    eligible: npt.NDArray[np.uint8]
    contested: npt.NDArray[np.uint8]
    eligible_count: int
    traces: tuple[ProcessorTrace, ...]


def run_processors(snapshot: Snapshot, context: SessionContext, today: date) -> Eligibility:
    """Status, with the days that a record is valid on, profile, project and negative scope, in that order."""
    projects = project_keys(context)
    if snapshot.has_folders:
        projects |= folder_keys(context)
    place = snapshot.place(
        context.profile_id or None, projects, context.pi_project_id or None, context.reader or None, today
    )
    rows, phrases = snapshot.phrases.match(turn_segments(context))
    eligible = place.in_project.view(np.uint8).copy()
    contested = place.contested.view(np.uint8).copy()
    silenced = int(np.count_nonzero(eligible[rows]))
    eligible[rows] = 0
    contested[rows] = 0
    left = place.counts[3] - silenced
    return Eligibility(
        eligible, contested, left, _traces(snapshot, place, context, rows, phrases, left, today)
    )


def turn_segments(context: SessionContext) -> list[str]:
    """The texts of a turn in which negative-scope phrases are looked for; no phrase spans two of them."""
    fields = (
        context.latest_user_message,
        context.first_user_message,
        context.task_intent,
        context.project_root,
        context.repository_id,
        context.working_directory,
        *context.recent_files_touched,
        *context.detected_domain_tags,
    )
    return [field for field in fields if field]


def _traces(
    snapshot: Snapshot,
    place: PlaceMasks,
    context: SessionContext,
    rows: Rows,
    phrases: Rows,
    left: int,
    today: date,
) -> tuple[ProcessorTrace, ...]:
    pi_project_id = context.pi_project_id

    def excluded(mask: npt.NDArray[np.bool_], reason: Callable[[MemoryRecord, int], str]) -> dict[str, str]:
        records = ((row, snapshot.record(row)) for row in np.flatnonzero(mask).tolist())
        return _in_id_order((record.id, reason(record, row)) for row, record in records)

    def admitted(rows: Rows, reason: str) -> Callable[[], dict[str, str]] | None:
        if not len(rows):
            return None
        return lambda: _in_id_order((snapshot.ids[row], reason) for row in rows.tolist())

    def phrase_matches() -> dict[str, str]:
        matched = zip(rows.tolist(), phrases.tolist(), strict=True)
        return _in_id_order(
            (snapshot.ids[row], phrase_reason(snapshot.record(row), phrase))
            for row, phrase in matched
            if place.in_project[row]
        )

    live, active, in_profile, in_project = place.counts
    return (
        ProcessorTrace(
            "StatusFilterProcessor",
            live,
            active,
            lambda: excluded(
                snapshot.live & ~place.active,
                lambda record, row: _status_reason(snapshot, record, row, today),
            ),
        ),
        ProcessorTrace(
            "ProfileScopeProcessor",
            active,
            in_profile,
            lambda: excluded(
                place.active & ~place.in_profile, lambda record, _: f"profile_mismatch:{record.profile_id}"
            ),
            admitted(place.by_pi_profile, f"pi_profile:{PROJECT_PROFILE}{pi_project_id}"),
        ),
        ProcessorTrace(
            "BasicScopeProcessor",
            in_profile,
            in_project,
            lambda: excluded(
                place.in_profile & ~place.in_project,
                lambda record, row: (
                    f"read_by:{context.reader}"
                    if place.read_by_itself[row]
                    else f"project_scope_mismatch:{record.scope.project or ''}"
                ),
            ),
            admitted(place.by_pi_project, f"pi_project:{pi_project_id}"),
        ),
        ProcessorTrace("NegativeScopeProcessor", in_project, left, phrase_matches),
    )


def _status_reason(snapshot: Snapshot, record: MemoryRecord, row: int, today: date) -> str:
    if snapshot.is_tombstoned(row):
        return "status:tombstoned"
    if record.status != "active":
        return f"status:{record.status}"
    early = snapshot.columns.valid_from[row] > today.toordinal()
    return f"valid_from:{record.valid_from}" if early else f"valid_to:{record.valid_to}"


def phrase_reason(record: MemoryRecord, phrase: int) -> str:
    """Why a record is out of scope, by the number of the phrase that matched: `<field>:<phrase>`."""
    first = len(record.does_not_apply_when)
    if phrase < first:
        return f"does_not_apply_when:{record.does_not_apply_when[phrase]}"
    return f"known_exceptions:{record.known_exceptions[phrase - first]}"


def _in_id_order(reasons: Iterable[tuple[str, str]]) -> dict[str, str]:
    return dict(sorted(reasons))
