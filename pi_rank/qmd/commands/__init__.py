"""The commands of qmd: options in, text out."""

from __future__ import annotations
