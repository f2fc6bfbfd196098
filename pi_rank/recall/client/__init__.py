"""The client of a recall service, which trusts nothing that it is answered."""

from __future__ import annotations
