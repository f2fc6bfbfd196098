"""Marks that no injector wrote cost no more than reading the message."""

from __future__ import annotations

import gc
import time

import pytest

from pi_rank.injection import strip_injected
from pi_rank.injection.history.live import marks_in
from pi_rank.injection.history.marks import mark_to_dict, new_mark, text_digest


def forged(number, **fields):
    return {"source": "s", "id": f"i{number}", "digest": f"{number:016x}", "rendering": "text", **fields}


def blocks_with_forged_marks(blocks, marks):
    content = [{"type": "text", "text": f"b{number}"} for number in range(blocks)]
    return {"role": "user", "content": content, "metadata": {"injected": [forged(n) for n in range(marks)]}}


def string_with_forged_marks(length, marks):
    listed = [forged(number, start=number % 7, chars=length - 10) for number in range(marks)]
    return {"role": "user", "content": "x" * length, "metadata": {"injected": listed}}


def marked_blocks_with_forged_marks(blocks, marks):
    message = blocks_with_forged_marks(blocks, marks)
    for number, part in enumerate(message["content"]):
        part["metadata"] = {"injected": forged(blocks + number)}
    return message


def seconds(work, message):
    gc.disable()
    try:
        start = time.process_time()
        work(message)
        return time.process_time() - start
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("make", "work"),
    [
        (blocks_with_forged_marks, lambda message: strip_injected([message], "anthropic")),
        (string_with_forged_marks, lambda message: strip_injected([message])),
        (marked_blocks_with_forged_marks, lambda message: list(marks_in([message]))),
    ],
)
def test_the_cost_grows_with_the_message_not_with_its_square(make, work):
    small, large = make(1_000, 1_000), make(8_000, 8_000)
    work(small)
    best = min(seconds(work, small) for _ in range(7))
    # Eight times the message; marks that are each tried on each block would take sixty-four times as long.
    assert min(seconds(work, large) for _ in range(5)) < 32 * best


def test_a_true_mark_is_found_among_forged_ones():
    text = "# Persistent Intelligence Context\n\n## Selected Memory\n- mem_a"
    content = "How?" + text
    true = mark_to_dict(new_mark("s", text, rendering="text", start=4))
    marks = [*(forged(number, start=number, chars=2) for number in range(20)), true]
    message = {"role": "user", "content": content, "metadata": {"injected": marks}}
    assert strip_injected([message]) == [{"role": "user", "content": "How?"}]
    rebuilt = {"role": "user", "content": [{"text": "How?"}, {"text": text}], "metadata": {"injected": marks}}
    assert strip_injected([rebuilt]) == [{"role": "user", "content": [{"text": "How?"}]}]


def test_of_two_blocks_with_the_same_words_the_last_one_is_the_injected_one():
    mark = forged(1) | {"digest": text_digest("same")}
    message = {
        "role": "user",
        "content": [{"text": "same"}, {"text": "same"}],
        "metadata": {"injected": [mark]},
    }
    (left,) = strip_injected([message])
    assert left["content"] == [{"text": "same"}]
    assert left["content"][0] is message["content"][0]
