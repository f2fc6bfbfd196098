"""The durable truth: records, full-text index and vectors in one SQLite file."""

from __future__ import annotations
