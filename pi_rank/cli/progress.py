"""Progress bars on stderr for what takes long; nothing where stderr is not a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from pi_rank.cli.output import is_terminal

Show = Callable[[int, int | None], None]
"""Called with how many are done, and how many there are where that is known."""


@contextmanager
def progress_bar(what: str, begin: int = 0) -> Iterator[Show | None]:
    """A bar for `what`, or None where nobody would see it.

    :param begin: how many an earlier run has done; they are no part of the speed shown.
    """
    if not is_terminal(sys.stderr):
        yield None
        return
    from tqdm import tqdm

    with tqdm(desc=what, initial=begin, unit="", leave=False, dynamic_ncols=True, file=sys.stderr) as bar:

        def show(done: int, total: int | None) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show


def embedding_progress() -> AbstractContextManager[Show | None]:
    """The bar of the slow part of a sync, in texts."""
    return progress_bar("embedding")
