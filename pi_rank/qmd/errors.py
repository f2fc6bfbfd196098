"""What the qmd command tells its user when it cannot do what was asked."""

from __future__ import annotations

from pi_rank.errors import PiRankError


class QmdError(PiRankError):
    """A user's error, or one of the surroundings.

    The message goes to stderr as it is, and the exit code is 1.
    """


class IndexFileError(QmdError):
    """The index cannot be opened, read or written."""
