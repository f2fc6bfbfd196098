"""Notes in Markdown: basic-memory's observations and relations, and any other vault, note by note.

Formats: https://docs.basicmemory.com/concepts/knowledge-format (`- [category] content #tag (context)`,
`- relation [[Target]]`), https://help.obsidian.md/properties, https://help.obsidian.md/obsidian-flavored-markdown
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pi_rank.memory.sources.protocol import SourceLine
from pi_rank.sources.files import FileSource, Reading
from pi_rank.sources.made import NOTED_CONFIDENCE, Maker, shown
from pi_rank.sources.text.front_matter import FrontMatter, read_front_matter
from pi_rank.sources.text.markdown import Passage, read_passages, statement_of, tags_of
from pi_rank.sources.trust import Trust
from pi_rank.sources.walk import Walker

MOST_SECTION_CHARACTERS = 600
"""A section up to this length is one record; of a longer one each passage is."""
MOST_FOLDERS = 20_000
_OBSERVATION = re.compile(r"\[(?P<category>[^\[\]()]{2,64})\]\s+(?P<content>\S.*)$")
_RELATION = re.compile(
    r"(?P<relation>[a-z][\w-]*(?: [a-z][\w-]*){0,3})\s+\[\[(?P<target>[^\[\]|]+)(?:\|[^\[\]]*)?\]\]"
    r"(?P<rest>\s*(?:\([^()]*\))?\s*)$"
)
_EMBED = re.compile(r"!\[\[[^\[\]]+\]\]")
_LINK = re.compile(r"\[\[([^\[\]|]+)(?:\|([^\[\]]*))?\]\]")
_TAG = re.compile(r"(?:^|(?<=\s))#([^\s#.,;:!?()\[\]]*[^\W\d][^\s#.,;:!?()\[\]]*)")
_CONTEXT = re.compile(r"\s*(\([^()]{1,500}\))\s*$")
_BLOCK_ID = re.compile(r"\s\^[A-Za-z0-9-]+$")
_CALLOUT = re.compile(r"^\[!\w+\][+-]?\s*")
# Front matter's words for a note that does not hold any more.
_STATUS = {
    "deprecated": "deprecated",
    "archived": "deprecated",
    "obsolete": "deprecated",
    "superseded": "superseded",
    "contested": "contested",
    "disputed": "contested",
    "deleted": "deleted",
}


class NoteSource(FileSource):
    """The notes below a folder. `prose`: of a note with observations, the rest is read as well."""

    def __init__(self, name: str, base: Path, trust: Trust, *, prose: bool) -> None:
        super().__init__(name, base, trust)
        self._prose = prose
        self._walker = Walker(base, lambda _, file: file.endswith(".md"), most_folders=MOST_FOLDERS)

    def names(self) -> Iterable[str]:
        return self._walker.names()

    def collect(self, reading: Reading) -> None:
        for path in self.candidates():
            text = reading.text(path)
            if text is not None:
                reading.add(path, self._records(path, text, reading.day(path)))

    def _records(self, path: Path, text: str, day: str) -> Iterator[SourceLine]:
        lines = text.splitlines()
        matter = read_front_matter(lines)
        title = matter.text("title") or path.stem
        maker = Maker(self.name, shown(path), **of_note(matter, day))
        passages = list(read_passages(without_hidden(lines)[matter.body_line - 1 :], matter.body_line))
        said = [passage for passage in passages if passage.item and is_said(passage.text)]
        for passage in said:
            yield _said(maker, passage, title, matter)
        if self._prose or not said:
            rest = [passage for passage in passages if passage not in said]
            yield from sections(
                maker, rest, title, tags=[title, *matter.words("tags"), *matter.words("aliases")]
            )


def of_note(matter: FrontMatter, day: str) -> dict[str, Any]:
    """The fields that a note's front matter gives to its records; the file's day where it has no date."""
    created = matter.text("created") or matter.text("created_at") or matter.text("date")
    updated = matter.text("updated") or matter.text("modified") or matter.text("updated_at")
    return {
        "confidence": NOTED_CONFIDENCE,
        "created_at": created or None,
        "updated_at": updated or day,
        "status": _STATUS.get(matter.text("status").strip().casefold()),
    }


def sections(
    maker: Maker,
    passages: Iterable[Passage],
    title: str,
    *,
    tags: Iterable[str] = (),
    **fields: Any,  # noqa: ANN401
) -> Iterator[SourceLine]:
    """A note section by section; a long one passage by passage, each under its heading.

    :param title: of the note, which a section without a heading gets.
    """
    tags = list(tags)
    groups: list[list[Passage]] = []
    for passage in passages:
        if groups and _heading(groups[-1][0]) == _heading(passage):
            groups[-1].append(passage)
        else:
            groups.append([passage])
    for group in groups:
        text = " ".join(_ended(said) for passage in group if (said := plain(_with_lead(passage))))
        if not text:
            continue
        first, heading = group[0], _heading(group[0])
        name = heading[-1] if heading else title
        if len(text) <= MOST_SECTION_CHARACTERS:
            all_tags = [*heading[:-1], *tags, *(tag for passage in group for tag in _tags_in(passage.text))]
            said = f"{name}: {text}" if name else text
            yield maker.record(first.line, text, statement=said, tags=all_tags, under=heading, **fields)
            continue
        for passage in group:
            if not plain(passage.text):
                continue
            said = plain(statement_of(passage) if passage.path else f"{title}: {passage.text}")
            all_tags = [*tags_of(passage), *tags, *_tags_in(passage.text)]
            yield maker.record(
                passage.line, passage.text, statement=said, tags=all_tags, under=passage.path, **fields
            )


def without_hidden(lines: list[str]) -> list[str]:
    """The lines without Obsidian's `%%comments%%`; none is lost, so that numbers stay."""
    text = "\n".join(lines)
    parts = text.split("%%")
    if len(parts) < 3:
        return lines
    if len(parts) % 2 == 0:  # the last one is not closed
        parts[-2:] = [f"{parts[-2]}%%{parts[-1]}"]
    return "".join("\n" * part.count("\n") if at % 2 else part for at, part in enumerate(parts)).split("\n")


def is_said(text: str) -> bool:
    """Whether a list item is an observation or a relation of basic-memory's."""
    return bool(_OBSERVATION.match(text) or _RELATION.match(text))


def _said(maker: Maker, passage: Passage, title: str, matter: FrontMatter) -> SourceLine:
    """An observation or relation of basic-memory, as a sentence about the note."""
    tags = [*matter.words("tags"), *_tags_in(passage.text)]
    observed = _OBSERVATION.match(passage.text)
    if observed:
        text = plain(observed["content"])
        rule = observed["category"].strip()
        return maker.record(
            passage.line, passage.text, statement=f"{title}: {text}", tags=[title, *tags], ruleType=rule
        )
    related = _RELATION.match(passage.text)
    assert related is not None  # `is_said`
    target = related["target"].strip()
    text = f"{title} {related['relation'].replace('_', ' ').strip()} {target}{plain(related['rest'])}"
    return maker.record(passage.line, passage.text, statement=text, tags=[title, target, *tags])


def _heading(passage: Passage) -> tuple[str, ...]:
    return passage.headings


def _with_lead(passage: Passage) -> str:
    lead = passage.path[len(passage.headings) :]
    return f"{lead[-1]}: {passage.text}" if lead else passage.text


def _ended(text: str) -> str:
    return text if text[-1:] in ".!?:;。！？`" else f"{text}."


def _tags_in(text: str) -> list[str]:
    return _TAG.findall(text)


def plain(text: str) -> str:
    """Without what is for Obsidian alone: links by their names, no embeds, block ids, marks of callouts.

    Tags at the end go as well, since they are tags of the record; the context behind them stays.
    """
    text = _LINK.sub(lambda link: link[2] or link[1], _EMBED.sub("", text))
    text = _CALLOUT.sub("", _BLOCK_ID.sub("", text)).strip()
    context = _CONTEXT.search(text[-600:])
    behind = f" {context[1]}" if context else ""
    text = text[: len(text) - len(context[0])] if context else text
    while (last := text.rpartition(" "))[2].startswith("#") and _TAG.match(last[2]):
        text = last[0].rstrip()
    return text + behind
