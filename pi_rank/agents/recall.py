"""One prompt of an agent: what it recalls and the conversation lacks, within the limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from pi_rank.agents.event import Event
from pi_rank.agents.hosts import Host
from pi_rank.agents.shown import END, NOTE, Shown
from pi_rank.agents.transcripts import blocks_in
from pi_rank.block.budget import byte_length, more_line
from pi_rank.block.neutral import neutralise_id
from pi_rank.injection.novelty import TITLE, Novelty, StatusLookup, novel_part
from pi_rank.injection.secrets import mask_secrets
from pi_rank.results import RetrievalContext

# A turn's block grows by ids, notes of replacement and what is withdrawn: asked again with less room where
# needed.
LEAST_BYTES = 1_000
TRIES = 4


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What goes to the agent: the text, the records in it with why each is, and those that it takes back.

    "" says nothing.
    """

    text: str = ""
    why: dict[str, str] = {}
    withdrawn: tuple[str, ...] = ()


class Ask(Protocol):
    """Builds the turn's block of at most so many bytes."""

    def __call__(self, max_bytes: int) -> RetrievalContext:
        """The turn."""


def shown_before(event: Event, host: Host) -> Shown:
    """What of earlier blocks the model can still read."""
    texts = event.blocks or blocks_in(host.name, event.transcript_path)
    return Shown(texts, escaped=host.escapes)


def answer(ask: Ask, shown: Callable[[], Shown], status_of: StatusLookup, max_bytes: int) -> Answer:
    """The answer to a prompt; empty where the prompt is not worth memory, or the conversation holds all of
    it.

    :param shown: called only where there is something to write.
    """
    room = max_bytes - byte_length(f"{NOTE}\n\n\n{END}\n")
    budget = room
    before: Shown | None = None
    for _ in range(TRIES):
        turn = ask(max(budget, 0))
        if turn.stats.get("trivial"):
            return Answer()
        before = before or shown()
        # A memory that has nothing to say may still have taken something back.
        part = novel_part(
            turn if turn.markdown else msgspec.structs.replace(turn, markdown=TITLE),
            before.live(turn),
            status_of,
            line_texts=before.lines_of,
        )
        text = mask_secrets(part.text)
        over = byte_length(text) - room
        if over <= 0 or budget - over < LEAST_BYTES:
            break
        budget -= over
    return _answer(text, part, turn, room)


def _answer(text: str, part: Novelty, turn: RetrievalContext, room: int) -> Answer:
    if not text.strip():
        return Answer()
    fitted = _fitted(text, room)
    title, _, rest = fitted.partition("\n")
    reasons = _reasons(turn)
    return Answer(
        text=f"{title}\n{NOTE}\n{rest.rstrip()}\n\n{END}\n",
        why={each: reasons.get(each, "") for each in part.record_ids if neutralise_id(each) in fitted},
        withdrawn=part.withdrawn,
    )


def _reasons(turn: RetrievalContext) -> dict[str, str]:
    """Why each record of a turn is in its block."""
    reasons = {record.id: "contested" for record in turn.contested}
    for hit in turn.selected:
        found = ", ".join(f"{each.source} {each.rank}" for each in hit.sources if each.rank is not None)
        reasons[hit.id] = f"ranked by {found}" if found else "identity"
    reasons.update({rule.id: "hard rule" for rule in turn.hard_rules})
    return reasons


def _fitted(text: str, room: int) -> str:
    """The text's first lines within so many bytes; what has no room is not in the conversation.

    So it comes later.
    """
    if byte_length(text) <= room:
        return text
    lines = text.split("\n")
    closing = more_line(len(lines)).rstrip("\n")
    left = room - byte_length(closing)
    kept = []
    for line in lines:
        left -= byte_length(line) + 1
        if left < 0:
            break
        kept.append(line)
    return "\n".join([*kept, more_line(len(lines) - len(kept)).rstrip("\n")])
