"""Every exception that pi_rank raises on purpose, under one base."""

from __future__ import annotations


class PiRankError(Exception):
    """Base of all errors of this package. The message says what is wrong and what to do about it."""


class RecordError(PiRankError, ValueError):
    """A memory record, or a line that should hold one, is not usable."""


class MemoryRootError(PiRankError):
    """The memory root is missing, is not a directory, or cannot be read."""


class ConfigError(PiRankError, ValueError):
    """A configuration value is unknown or out of range."""


class ContextError(PiRankError, ValueError):
    """A turn's SessionContext, or an argument of the turn, is not usable."""


class StoreError(PiRankError):
    """The store cannot be opened, read or written; `pi-rank rebuild` makes a new one from the files."""


class StoreVersionError(StoreError):
    """The store was written by another version of pi_rank, or is no store of ours at all."""


class ModelError(PiRankError):
    """An embedding model is unknown, incomplete, altered, or cannot be run."""


class VectorError(PiRankError, ValueError):
    """A vector has the wrong dimension, dtype or a value that is not finite."""


class UntrustedWarning(UserWarning):
    """Settings or memory that others may have written are left out until their user trusts them."""
