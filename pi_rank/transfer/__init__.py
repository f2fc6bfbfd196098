"""Memory from one form to another: other programs' into a new root of PI's, and a root out of it."""

from __future__ import annotations
