"""Tables at the end of a TOML file's text, between two comments, and out of it again."""

from __future__ import annotations

import re
import sys
from typing import Any

from pi_rank.agents.install.json_edits import newline_of
from pi_rank.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

BEGIN, END = "# pi-rank: begin", "# pi-rank: end"
_OURS = re.compile(rf"(?:\r?\n)?^{BEGIN}\b.*?^{END}[^\n]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


def with_tables(text: str, tables: str) -> str:
    """The text with our tables at its end, once and in their present form.

    :raises ConfigError: the text is not TOML, or says already what the tables would say.
    """
    _parsed(text)
    newline = newline_of(text)
    ours = f"{BEGIN}\n{tables.strip()}\n{END}\n".replace("\n", newline)
    if text.count(ours) == 1 and len(_OURS.findall(text)) == 1:
        return text
    text = without_tables(text)
    gap = "" if not text else newline if text.endswith("\n") else 2 * newline
    changed = f"{text}{gap}{ours}"
    try:
        _parsed(changed)
    except ConfigError as error:
        raise ConfigError(
            f"what it has already leaves no room for these tables ({error}); add them yourself:\n{ours}"
        ) from None
    return changed


def without_tables(text: str) -> str:
    """The text without our tables."""
    return _OURS.sub("", text)


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"it is not TOML: {error}") from None
