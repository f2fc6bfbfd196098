"""The part of a block that the conversation does not hold yet: new, changed and withdrawn records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TypeVar

import msgspec

from pi_rank.block import lines as block_lines
from pi_rank.block.budget import CUT
from pi_rank.block.lines import hard_rule_line
from pi_rank.block.neutral import neutralise, neutralise_id
from pi_rank.injection.growing import LineLookup, SectionNews, section_news
from pi_rank.injection.history.live import Live
from pi_rank.injection.history.marks import text_digest
from pi_rank.memory.records import MemoryRecord
from pi_rank.results import RetrievalContext

TITLE = "# Persistent Intelligence Context"
HARD_RULES = "## Hard Rules"
WITHDRAWN_HEADING = "## Withdrawn Memory"
StatusLookup = Callable[[Collection[str]], Mapping[str, str]]
T = TypeVar("T")


class Line(msgspec.Struct, frozen=True):
    """One line of a section; `record_id` is "" where it holds no record."""

    text: str
    record_id: str = ""
    version: str = ""


class Section(msgspec.Struct, frozen=True):
    """One `##` section of a block: its heading line, its lines, and whether these are records."""

    heading: str
    lines: tuple[Line, ...]

    @property
    def holds_records(self) -> bool:
        """Whether the section lists records, rather than being one text (scratchpad, daily log, sessions)."""
        return any(line.record_id for line in self.lines)

    @property
    def texts(self) -> list[str]:
        """The lines as they stand."""
        return [line.text for line in self.lines]

    @property
    def name(self) -> str:
        """The heading, with its date: another day's log takes nothing back of this one's."""
        return self.heading.removeprefix("## ")


class Novelty(msgspec.Struct, frozen=True, kw_only=True):
    """What to write: the text and what it holds. `text` "" means that there is nothing new."""

    text: str
    record_ids: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    sections: dict[str, str] = {}
    lines: dict[str, tuple[str, ...]] = {}
    gone: dict[str, tuple[str, ...]] = {}
    continued: tuple[str, ...] = ()
    content: str = ""


def novel_part(
    context: RetrievalContext,
    live: Live,
    status_of: StatusLookup | None = None,
    *,
    near: Live | None = None,
    line_texts: LineLookup | None = None,
) -> Novelty:
    """The new part of a turn's block, given what is live. With nothing to show it may still take records
    back.

    :param status_of: maps record ids to their present status; an id that it leaves out no longer exists.
        Without it, only records that this turn shows as contested are known to be withdrawn.
    :param near: what is live near enough to the end that a hard rule need not be repeated; all of it by
        default.
    :param line_texts: section, digests → the lines with these digests, as the conversation has them.
    """
    sections = list(parse_block(context))
    withdrawn = _withdrawn(sections, live, status_of)
    parts: list[str] = []
    records: dict[str, str] = {}
    news: list[SectionNews] = []
    for section in sections:
        if section.holds_records:
            known = near if near is not None and section.heading == HARD_RULES else live
            kept = _new_lines(section, live, known)
            fresh = (line for line in section.lines if _is_new(line, known))
            records.update({line.record_id: line.version for line in fresh})
        else:
            found = section_news(section.heading, section.texts, live.sections.get(section.name), line_texts)
            news += [found] if found is not None else []
            kept = found.written if found is not None else []
        parts += ["\n".join(kept)] if kept else []
    for found in _emptied(sections, live, line_texts):
        news.append(found)
        parts.append("\n".join(found.written))
    if withdrawn:
        parts.insert(0, "\n".join([WITHDRAWN_HEADING, *withdrawn.values()]))
    return Novelty(
        text="\n\n".join([TITLE, *parts]) if parts else "",
        record_ids=tuple(records),
        versions=tuple(records.values()),
        withdrawn=tuple(key for key in withdrawn if key not in records),
        sections={item.name: item.digest for item in news},
        lines={item.name: item.lines for item in news},
        gone={item.name: item.gone for item in news if item.gone},
        continued=tuple(item.name for item in news if item.continued),
    )


def _emptied(sections: list[Section], live: Live, line_texts: LineLookup | None) -> Iterator[SectionNews]:
    """Sections that were shown and have no line left; a dated one is another day's, and stays.

    A block that is empty, or that had no room for all, says nothing of what it does not show.
    """
    if not sections or any(line.startswith(CUT) for line in sections[-1].texts):
        return
    shown = {section.name for section in sections}
    for name, known in live.sections.items():
        if name not in shown and known.lines and " (" not in name:
            found = section_news(f"## {name}", [], known, line_texts)
            if found is not None:
                yield found


def novel_text(text: str, masked: str, live: Live, source: str) -> Novelty:
    """A text of the user's own, unless it is what its source said last; a changed one says what it replaces.

    :param masked: the text as it may be stored, by which it is known again.
    """
    digest = text_digest(masked)
    if not text or live.text == digest:
        return Novelty(text="")
    note = f"\n(replaces the earlier text of {neutralise_id(source)})" if live.text else ""
    return Novelty(text=text + note, content=digest)


def parse_block(context: RetrievalContext) -> Iterator[Section]:
    """The sections of a block, each line with the record it shows. A record is always one line."""
    for section in f"\n{context.markdown}".split("\n## ")[1:]:
        heading, _, body = section.partition("\n")
        yield _section("## " + heading, body.strip("\n").split("\n"), context)


def _section(heading: str, lines: list[str], context: RetrievalContext) -> Section:
    if heading == HARD_RULES:
        return Section(heading, tuple(_hard_rules(lines, context.hard_rules)))
    if heading == "## Selected Memory":
        shown = [hit.record for hit in context.selected]
        return Section(heading, tuple(_by_label(lines, shown, "- {} [", "memory")))
    if heading == "## Contested Memory":
        labels = "⚠️ CONTESTED: [{}, conf "
        return Section(heading, tuple(_by_label(lines, context.contested, labels, "contested")))
    return Section(heading, tuple(map(Line, lines)))


def _by_label(lines: list[str], shown: Iterable[MemoryRecord], label: str, kind: str) -> Iterator[Line]:
    """Lines whose label names their record; records are listed in the order in which they are shown."""
    left = [(label.format(neutralise_id(record.id)), record) for record in shown]
    return _paired(lines, left, str.startswith, kind)


def _hard_rules(lines: list[str], rules: Iterable[MemoryRecord]) -> Iterator[Line]:
    """Lines that name no id: the record is the next one that the whole line, cut or not, is of."""
    return _paired(lines, [(hard_rule_line(rule), rule) for rule in rules], _states, "memory")


def _states(line: str, rule: block_lines.Line) -> bool:
    whole = "".join(rule)
    cut = line.endswith(CUT) and len(line) > len(rule.label) + len(CUT)
    return line == whole or (cut and whole.startswith(line.removesuffix(CUT)))


def _paired(
    lines: list[str], left: list[tuple[T, MemoryRecord]], shows: Callable[[str, T], bool], kind: str
) -> Iterator[Line]:
    at = 0
    for line in lines:
        found = next((index for index in range(at, len(left)) if shows(line, left[index][0])), None)
        if found is None:
            yield Line(line)
        else:
            at = found + 1
            record = left[found][1]
            yield Line(line, record.id, record_version(record, kind))


def record_version(record: MemoryRecord, kind: str) -> str:
    """What a record says, in 9 characters: `m` or `c` (contested), then a digest of type and statement.

    Confidence and age are labels that move by themselves; they do not make a record worth writing again.
    """
    return kind[0] + _said(record.rule_type or "", record.statement)


@lru_cache(maxsize=8_192)
def _said(rule_type: str, statement: str) -> str:
    return text_digest(f"{rule_type}\x1f{statement}")[:8]


def _is_new(line: Line, live: Live) -> bool:
    return bool(line.record_id) and live.records.get(line.record_id) != line.version


def _new_lines(section: Section, live: Live, near: Live) -> list[str]:
    fresh = [line for line in section.lines if _is_new(line, near)]
    if not fresh:
        return []
    whole = len(fresh) == sum(1 for line in section.lines if line.record_id)
    kept = [section.heading]
    for line in section.lines:
        if not line.record_id:  # "N more not shown" is only true of the whole section
            kept += [line.text] if whole or not line.text.startswith(CUT) else []
        elif _is_new(line, near):
            replaced = line.record_id in live.records and _is_new(line, live)
            note = f" (replaces the earlier text of {neutralise_id(line.record_id)})" if replaced else ""
            kept.append((_named(line) if section.heading == HARD_RULES else line.text) + note)
    return kept


def _named(line: Line) -> str:
    """A hard rule with its id, which the turn's block leaves out: a later block may have to take it back."""
    return line.text.replace("[conf ", f"[{neutralise_id(line.record_id)}, conf ", 1)


def _withdrawn(sections: list[Section], live: Live, status_of: StatusLookup | None) -> dict[str, str]:
    """Live records that no longer hold, each with the line that says so; one shown anew speaks for itself."""
    shown = {line.record_id for section in sections for line in section.lines if line.record_id}
    unsure = [key for key in live.records if key not in shown]
    if not unsure or status_of is None:
        return {}
    statuses = status_of(unsure)
    return {
        key: f"- {neutralise_id(key)}: {neutralise(status)} since it was recalled above; do not rely on it"
        for key in unsure
        if (status := statuses.get(key, "deleted")) != "active"
        and not (status == "contested" and live.records[key].startswith("c"))  # it was shown as contested
    }
