"""The index of Markdown collections: one SQLite file, made from the folders."""

from __future__ import annotations
