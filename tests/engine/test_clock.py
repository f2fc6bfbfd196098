from __future__ import annotations

import json
from datetime import date, datetime, timedelta, timezone

import pytest

from pi_rank import SessionContext
from pi_rank.clock import utc_day
from tests.support.memory import engine_on

PROMPT = "How are payments settled, explain the ledger job"


def test_a_moment_is_the_day_that_it_falls_on_in_utc():
    late = datetime(2026, 6, 30, 23, tzinfo=timezone(timedelta(hours=-2)))
    assert utc_day(late) == date(2026, 7, 1)
    assert utc_day(late.replace(tzinfo=None)) == utc_day(date(2026, 6, 30)) == date(2026, 6, 30)
    assert type(utc_day(late)) is type(utc_day()) is date


@pytest.mark.parametrize(
    "given",
    [
        date(2026, 6, 30),
        datetime(2026, 6, 30),
        datetime(2026, 6, 30, 12, tzinfo=timezone.utc),
        datetime(2026, 7, 1, 1, tzinfo=timezone(timedelta(hours=2))),
    ],
)
def test_a_day_or_any_moment_of_it_gives_one_turn(given, tmp_path):
    with engine_on(
        tmp_path, [{"id": "mem_a", "statement": "Payments are settled by the ledger job."}]
    ) as engine:
        write_notes(engine.root, date(2026, 6, 30))
        turn = SessionContext(latest_user_message=PROMPT)
        alone = engine.build_retrieval_context(turn, today=given)
        (batched,) = engine.retrieve_batch([turn], today=given)
    assert "## Daily Log (2026-06-30)\n> - settled the incident" in alone.markdown
    assert "## Today's Sessions\n- [web] Ledger" in alone.markdown
    assert batched.markdown == alone.markdown


def write_notes(root, day):
    """The day's log, and a session of that day."""
    for folder in ("daily", "sessions"):
        (root / folder).mkdir(exist_ok=True)
    (root / f"daily/{day.isoformat()}.md").write_text("- settled the incident\n", encoding="utf-8")
    session = {
        "id": "s1",
        "date": day.isoformat(),
        "project": "web",
        "name": "Ledger",
        "decisions": ["twice"],
    }
    (root / "sessions/session-index.jsonl").write_text(json.dumps(session) + "\n", encoding="utf-8")
