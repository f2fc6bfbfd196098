"""One short module per agent framework. Each imports its framework, so import the module that you use."""

from __future__ import annotations


def missing(package: str, extra: str) -> ImportError:
    """The error for a framework that is not installed, saying what to install."""
    return ImportError(f"{package} is not installed: pip install 'pi-rank[{extra}]'")
