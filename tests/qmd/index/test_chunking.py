"""Chunks and passages: they cover the text, keep their size, and cut where a reader would."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pi_rank.qmd.index.chunking import (
    CHUNK_TOKENS,
    OVERLAP_TOKENS,
    PASSAGE_TOKENS,
    chunks,
    passages,
    token_count,
)
from pi_rank.qmd.text import title_of

PARAGRAPH = "All work and no play makes a dull day for everybody here. " * 10  # about 145 tokens


def sections(n, paragraphs=4):
    return "".join(f"## Section {i}\n\n" + (PARAGRAPH + "\n\n") * paragraphs for i in range(n))


def parts(text, spans):
    return [text[span.start : span.end] for span in spans]


def test_a_short_text_is_one_chunk():
    assert chunks("# Title\n\nOne line.\n") == [(0, 19)]
    assert chunks("") == []


def test_chunks_are_about_900_tokens_and_overlap_by_about_15_percent():
    text = sections(40)
    spans = chunks(text)
    sizes = [token_count(part) for part in parts(text, spans)]
    assert max(sizes) <= CHUNK_TOKENS + 1
    assert min(sizes[:-1]) >= CHUNK_TOKENS * 0.6
    overlaps = [token_count(text[b.start : a.end]) for a, b in pairwise(spans)]
    assert max(overlaps) <= OVERLAP_TOKENS + 1
    assert sum(map(bool, overlaps)) > len(overlaps) / 2


def test_a_chunk_ends_before_a_heading_where_it_can():
    text = sections(12, paragraphs=5)
    ends = [text[span.end :][:10] for span in chunks(text)[:-1]]
    assert all(rest.startswith("## Section") for rest in ends), ends


def test_no_cut_inside_a_fence():
    code = "```python\n" + "value = compute(1, 2, 3)\n" * 60 + "```\n"
    text = (PARAGRAPH + "\n\n") * 5 + code + (PARAGRAPH + "\n\n") * 8 + code
    for span in chunks(text):
        assert text[span.start : span.end].count("```") % 2 == 0


def test_a_fence_longer_than_a_chunk_stays_whole_and_an_open_one_ends_the_text():
    code = "~~~~\n" + "x = 1 ``` not a fence\n" * 900 + "~~~\n~~~~\n"
    text = PARAGRAPH + "\n" + code
    assert any(code in part for part in parts(text, chunks(text)))
    unclosed = "intro\n\n```\n" + "line\n" * 3000
    assert len(chunks(unclosed)) <= 2
    assert chunks(unclosed)[-1].end == len(unclosed)


def test_never_inside_a_character():
    family, flag, accent = "👩\u200d👩\u200d👧", "🇩🇪", "e\u0301"
    text = (family + flag + accent) * 2000
    joins = {0x200D, 0x0301}
    for span in [*chunks(text), *passages(text)]:
        assert ord(text[span.start]) not in joins
        assert span.start == 0 or ord(text[span.start - 1]) != 0x200D


def test_scripts_without_spaces_count_a_token_for_each_character():
    text = "部署前必须运行测试。" * 400
    assert token_count(text) >= 3600
    assert all(token_count(part) <= CHUNK_TOKENS + PASSAGE_TOKENS for part in parts(text, chunks(text)))
    assert max(token_count(part) for part in parts(text, passages(text))) <= PASSAGE_TOKENS + 20


def test_passages_are_small_enough_for_the_model():
    text = sections(3)
    found = parts(text, passages(text))
    assert "".join(found) == text
    assert max(token_count(part) for part in found) <= PASSAGE_TOKENS


@given(st.text(st.sampled_from("ab \n#`-~é部👩\u200d\r\u2028"), max_size=400), st.integers(1, 40))
def test_everything_is_in_some_chunk(text, times):
    text = text * times
    spans = chunks(text)
    covered = 0
    for span in spans:
        assert span.start <= covered < span.end or span.start == span.end == 0
        covered = max(covered, span.end)
    assert covered == len(text)
    assert "".join(parts(text, passages(text))).split() == text.split()


def test_titles():
    assert title_of("text\n\n## Second level ##\n# First\n", "a/b.md") == "Second level"
    assert title_of("```\n# in code\n```\n#no space\n### third\n", "a/the file.md") == "the file"
    assert title_of("~~~\n# code\n```\n# code\n~~~\n# After\n", "x.md") == "After"
    assert title_of("", "notes/2026-06-30.md") == "2026-06-30"
