"""What is on the shelves: documents of Markdown folders and of memories, as one process reads them."""

from __future__ import annotations
