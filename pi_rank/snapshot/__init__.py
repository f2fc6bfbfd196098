"""One generation of a memory, held in memory: columns, postings, vectors, phrases."""

from __future__ import annotations
