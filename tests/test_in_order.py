"""Batches: order, bounded memory, errors in their place."""

from __future__ import annotations

import threading
import time

import pytest

from pi_rank.batch import ITEMS_PER_TASK, TASKS_AHEAD, in_order


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_items(threads):
    def work(items):
        time.sleep(0.001 * (items[0] % 3))
        return [item * 2 for item in items]

    assert list(in_order(work, range(200), threads)) == [item * 2 for item in range(200)]


def test_nothing_is_read_far_ahead():
    taken = []

    def items():
        for item in range(10_000):
            taken.append(item)
            yield item

    results = in_order(list, items(), 2)
    for _ in range(100):
        next(results)
    assert len(taken) <= 100 + ITEMS_PER_TASK * 2 * (TASKS_AHEAD + 1)
    results.close()


def test_threads_work_at_the_same_time():
    both = threading.Barrier(2, timeout=20)
    first_of_its_task = {0, ITEMS_PER_TASK}

    def work(items):
        if items[0] in first_of_its_task:
            both.wait()
        return items

    assert len(list(in_order(work, range(2 * ITEMS_PER_TASK), 2))) == 2 * ITEMS_PER_TASK


@pytest.mark.parametrize(("count", "sizes"), [(5, [3, 2]), (64, [32, 32]), (130, [64, 64, 1, 1]), (1, [1])])
def test_few_items_keep_every_thread_at_work(count, sizes):
    assert list(in_order(lambda items: [len(items)] * len(items), range(count), 2)) == [
        size for size in sizes for _ in range(size)
    ]


def test_an_error_is_raised_in_its_place():
    results = in_order(lambda items: [1 // (200 - item) for item in items], range(300), 2)
    with pytest.raises(ZeroDivisionError):
        for count, _ in enumerate(results, 1):  # noqa: B007
            pass
    assert 100 < count <= 200
