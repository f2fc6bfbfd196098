"""A block is known again in whatever way an agent keeps it."""

from __future__ import annotations

import html
from pathlib import Path

import pytest

import pi_rank
from pi_rank import MemoryEngine, SessionContext
from pi_rank.agents.recall import answer
from pi_rank.agents.shown import MARK, Shown
from pi_rank.injection.novelty import novel_part

SAMPLE = Path(pi_rank.__file__).parent / "sample"
PROMPTS = (
    "Can I deploy orchard to production this Friday, and what do I run first?",
    "How do I look at the staging database of orchard?",
    "Write the release note for orchard 2.14.",
)
KEPT = {
    "as it is": lambda text: text,
    "trimmed": lambda text: text.rstrip(),
    "wrapped": lambda text: (
        f"<system-reminder>\nUserPromptSubmit hook additional context: {text}\n</system-reminder>"
    ),
    "entities": lambda text: f"<hook_context>{html.escape(text, quote=False)}</hook_context>",
    "blanks at the ends of lines": lambda text: text.replace("\n", "  \n"),
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with MemoryEngine.open(SAMPLE, store=tmp_path_factory.mktemp("store") / "s.sqlite3") as opened:
        opened.sync()
        yield opened


def turn_of(engine, prompt, max_bytes=14_000):
    context = SessionContext(latest_user_message=prompt, working_directory="/home/mina/work/orchard-api")
    return engine.build_retrieval_context(context, today=None, max_bytes=max_bytes)


def block(engine, prompt, texts=(), max_bytes=14_000, escaped=False):
    return answer(
        lambda limit: turn_of(engine, prompt, limit),
        lambda: Shown(texts, escaped=escaped),
        engine.record_statuses,
        max_bytes,
    )


@pytest.mark.parametrize("way", KEPT)
@pytest.mark.parametrize("prompt", PROMPTS)
def test_nothing_is_said_twice(engine, way, prompt):
    first = block(engine, prompt)
    kept = KEPT[way](first.text)
    again = block(engine, prompt, [kept], escaped=way == "entities")
    assert (again.text, again.withdrawn) == ("", ())


@pytest.mark.parametrize("max_bytes", [400, 800, 1_500, 3_000])
def test_what_had_no_room_comes_later_and_only_once(engine, max_bytes):
    texts, seen = [], []
    for _ in range(12):
        found = block(engine, PROMPTS[0], texts, max_bytes)
        if not found.text:
            break
        assert len(found.text.encode()) <= max_bytes
        texts.append(found.text)
        seen += found.why
    assert len(seen) == len(set(seen))


def test_a_record_that_says_something_else_replaces_the_earlier_text(engine):
    first = block(engine, PROMPTS[0])
    before = first.text.replace("it stops at the canary", "it never stops")
    again = block(engine, PROMPTS[0], [before])
    assert list(again.why) == ["mem_20260401_deploycmd"]
    assert "(replaces the earlier text of mem_20260401_deploycmd)" in again.text
    assert block(engine, PROMPTS[0], [before, again.text]).text == ""


def test_confidence_and_age_are_no_news(engine):
    first = block(engine, PROMPTS[0])
    assert "conf 0.94" in first.text
    assert block(engine, PROMPTS[0], [first.text.replace("conf 0.94", "conf 0.61 ⚠️ 41d")]).text == ""


def test_a_text_without_the_mark_is_no_block(engine):
    first = block(engine, PROMPTS[0])
    assert block(engine, PROMPTS[0], [first.text.replace(MARK, "")]).text == first.text


def test_an_id_that_is_written_otherwise_is_never_taken_for_a_deleted_one(engine):
    """A record's own id may have blanks and brackets; the block shows another, which no memory knows."""
    line = "- a_b~0123abcd [L2, conf 0.90] It was so."
    known = f"# Persistent Intelligence Context\n{MARK}\n\n## Selected Memory\n{line}"
    live = Shown([known]).live(turn_of(engine, PROMPTS[0]))
    assert live.records == {}
    assert novel_part(turn_of(engine, PROMPTS[0]), live, engine.record_statuses).withdrawn == ()
