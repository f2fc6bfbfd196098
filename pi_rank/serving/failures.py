"""What is logged of a failure that nobody foresaw."""

from __future__ import annotations

import logging
import traceback

log = logging.getLogger("pi_rank.serving")


def log_failure(error: BaseException) -> None:
    """Log what went wrong and where, without the error's own words: they may quote a query or a note."""
    where = "".join(traceback.format_tb(error.__traceback__))
    log.error("a request failed: %s\n%s", type(error).__name__, where)
