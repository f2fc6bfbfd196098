from __future__ import annotations

import numpy as np
import pytest

from pi_rank._core import postings


def postings_of(segment):
    """{term: [(row, frequency, document length)]}"""
    blob, ends = segment["blob"].tobytes(), segment["ends"]
    return {
        blob[ends[term] : ends[term + 1]].decode(): [
            (int(segment["rows"][i]), int(segment["pair_frequency"][code]), int(segment["pair_length"][code]))
            for i, code in enumerate(segment["codes"])
            if segment["offsets"][term] <= i < segment["offsets"][term + 1]
        ]
        for term in range(segment["function"].size)
    }


def test_build():
    segment = postings.build([b"run bun test:2\n", b"bun\nthe:3", b"\n"], 7)
    assert postings_of(segment) == {
        "run": [(7, 1, 4)],
        "bun": [(7, 1, 4), (8, 1, 4)],
        "test": [(7, 2, 4)],
        "the": [(8, 3, 4)],
    }
    assert segment["function"].tolist() == [0, 0, 0, 1]
    assert segment["lengths"].tolist() == [4, 4, 0]
    assert segment["content"].tolist() == [3, 1, 0]


def test_every_field_has_the_declared_type():
    for segment in (postings.build([]), postings.build([b"a b:2\nthe"])):
        assert {name: array.dtype for name, array in segment.items()} == {
            name: np.dtype(dtype) for name, (dtype, _) in postings.FIELDS.items()
        }


def test_merge_is_the_build_of_both():
    documents = [b"a b:2\nthe", b"c a:3\n", b"\n", b"d b a:3\nthe", b"e\nand"]
    for cut in range(len(documents) + 1):
        merged = postings.merge(postings.build(documents[:cut]), postings.build(documents[cut:], cut))
        whole = postings.build(documents)
        assert postings_of(merged) == postings_of(whole)
        assert all(np.array_equal(merged[name], whole[name]) for name in ("function", "lengths", "content"))


def test_merge_refuses_segments_that_do_not_meet():
    with pytest.raises(ValueError, match="the first ends at row 1, the second begins at row 2"):
        postings.merge(postings.build([b"a\n"]), postings.build([b"a\n"], 2))


def test_selected_is_the_build_of_those_documents_alone():
    documents = [b"a b:2\nthe", b"c a:3\n", b"\n", b"d b a:3\nthe", b"e\nand"]
    segment = postings.build(documents, 7)
    for chosen in ([], [0], [1, 3], [2], [0, 1, 2, 3, 4]):
        selected = postings.selected(segment, np.array(chosen, np.int32) + np.int32(7), 3)
        alone = postings.build([documents[row] for row in chosen], 3)
        assert postings_of(selected) == postings_of(alone)
        assert sorted(selected["function"].tolist()) == sorted(alone["function"].tolist())
        assert all(
            np.array_equal(selected[name], alone[name]) for name in ("first_row", "lengths", "content")
        )
        assert {name: array.dtype for name, array in selected.items()} == {
            name: np.dtype(dtype) for name, (dtype, _) in postings.FIELDS.items()
        }


def test_selected_refuses_rows_that_are_not_there_or_do_not_ascend():
    segment = postings.build([b"a\n", b"b\n"], 7)
    for rows in ([6], [9], [8, 7], [7, 7]):
        with pytest.raises(ValueError, match="must ascend, from 7 to at most 8"):
            postings.selected(segment, np.array(rows, np.int32))


def test_live_frequencies():
    segment = postings.build([b"a b\n", b"a\n", b"c\n"])
    assert postings.live_frequencies(segment, np.array([0, 1, 1], np.uint8)).tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="fewer than the segment has rows"):
        postings.live_frequencies(segment, np.ones(2, np.uint8))


def test_a_vocabulary_of_100_000_words_is_found_again():
    words = [f"w{i:x}" for i in range(100_000)]
    segment = postings.build([f"{' '.join(words[i : i + 100])}\n".encode() for i in range(0, 100_000, 100)])
    assert segment["function"].size == 100_000
    assert segment["slots"].size == 262_144  # at most half full
    again = postings.merge(segment, postings.build([b"w0 w1869f new\n"], 1000))
    assert again["function"].size == 100_001


@pytest.mark.parametrize(
    "packed",
    [
        *(b"", b"a", b"a\nb\nc"),  # one line break, always
        *(b"a:0\n", b"a:x\n", b"a:-1\n", b"a:1:1\n", b"a:99999999999\n", b"a:2147483647 b\n"),
        *(b"a  b\n", b" a\n", b":2\n"),
        *(b"a a\n", b"a\na"),
    ],
)
def test_what_pack_terms_does_not_write_is_refused(packed):
    with pytest.raises(ValueError, match="packed document 1 is not what pack_terms writes"):
        postings.build([b"ok\n", packed])


def test_a_stem_is_a_function_words_in_all_documents_or_in_none():
    with pytest.raises(ValueError, match="packed document 1"):
        postings.build([b"a\n", b"\na"])


def test_other_types_and_rows_out_of_range_are_refused():
    with pytest.raises(TypeError, match="a packed document is bytes, not str"):
        postings.build(["a\n"])
    with pytest.raises(ValueError, match="do not fit"):
        postings.build([b"a\n"], 2**31 - 1)
    with pytest.raises(ValueError, match="do not fit"):
        postings.build([], -1)
