"""Globs, plainly: every choice of every star is tried."""

from __future__ import annotations


def matches(glob: str, path: str) -> bool:
    """Whether the glob, which has no braces and no sets, matches the whole path."""
    return _matches(glob, path, at_name=True)


def _matches(glob: str, path: str, *, at_name: bool) -> bool:
    if not glob:
        return not path
    if glob.startswith("**"):
        rest = glob.lstrip("*")
        whole_name = at_name and rest[:1] in ("", "/")
        if whole_name and rest and _matches(rest[1:], path, at_name=True):
            return True  # no folder at all
        tails = [path[at:] for at in range(len(path) + 1)]
        if whole_name and rest:
            return any(_matches(rest, tail, at_name=False) for tail in tails if tail[:1] == "/")
        return any(_matches(rest, tail, at_name=False) for tail in tails)
    if glob[0] == "*":
        name = path.partition("/")[0]
        return any(_matches(glob[1:], path[at:], at_name=False) for at in range(len(name) + 1))
    if not path or (path[0] != glob[0] and (glob[0] != "?" or path[0] == "/")):
        return False
    return _matches(glob[1:], path[1:], at_name=glob[0] == "/")
