"""Quality: of rankings and models, on collections with relevance judgements."""

from __future__ import annotations
