"""Memory in other forms than PI's, as a root takes it in; the readers are in `pi_rank.sources`."""

from __future__ import annotations
