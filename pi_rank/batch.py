"""Work on many items by several threads, with the results in order and only a few items in memory."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

Item = TypeVar("Item")
Result = TypeVar("Result")

# Turns that are searched for together, at most: with fewer, threads wait for each other more than they work.
ITEMS_PER_TASK = 64
TASKS_AHEAD = 2


def in_order(
    work: Callable[[list[Item]], list[Result]], items: Iterable[Item], threads: int | None = None
) -> Iterator[Result]:
    """The results of `work`, which takes a few neighbouring items at a time, in the order of the items.

    The first exception of `work` or of `items` is raised where its task would have come, and ends the
    iteration.

    :param threads: by default one a core. Gains where `work` lets go of the GIL.
    """
    workers = threads or os.cpu_count() or 1
    tasks = _tasks(iter(items), workers)
    if workers == 1:
        for task in tasks:
            yield from work(task)
        return
    pending: deque[Future[list[Result]]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="pi-rank-batch") as pool:
        try:
            while True:
                for task in islice(tasks, workers * TASKS_AHEAD - len(pending)):
                    pending.append(pool.submit(work, task))
                if not pending:
                    return
                yield from pending.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _tasks(items: Iterator[Item], workers: int) -> Iterator[list[Item]]:
    """Items for a whole task of each worker are shared out evenly: few items keep all workers busy too."""
    while window := list(islice(items, workers * ITEMS_PER_TASK)):
        size = -(-len(window) // workers)
        for start in range(0, len(window), size):
            yield window[start : start + size]
