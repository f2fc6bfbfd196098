"""From a question to ranked documents, as one short-lived process finds them."""

from __future__ import annotations
