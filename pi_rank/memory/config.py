"""The settings of a memory root, from PI's config.json."""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from pi_rank.errors import RecordError
from pi_rank.memory.records import decode_object, without_nulls
from pi_rank.memory.sources.protocol import SourceSpec

InjectionMode = Literal["scoped", "policy_only", "wakeup"]
CLOSED: InjectionMode = "policy_only"  # where the mode that was meant is not known, nothing is shown
L1_PERCENT = 35  # of the block's records, at most, are L1
MOST_RECORDS = 1000


class RootConfig(msgspec.Struct, frozen=True):
    """What config.json says about retrieval and qmd. `warnings` says what in it could not be used.

    `min_relevance`: what a record needs to be selected; None for the model's own threshold.

    A number that cannot be used is the default's. An injection mode that cannot be used is `policy_only`:
    what a user shut must not open because of a slip of the pen.
    """

    injection_mode: InjectionMode = "scoped"
    max_records: int = 12
    max_l1: int = 4
    max_l2: int | None = None
    qmd_collection: str = "pi-persistent-intelligence"
    qmd_enabled: bool = True
    sources: tuple[SourceSpec, ...] = ()
    min_relevance: float | None = None
    warnings: tuple[str, ...] = ()

    def budgets(self, max_records: int | None = None, identity: int | None = None) -> tuple[int, int, int]:
        """How many records, L1 and L2 records a block may have.

        L1 gets `min(max_l1, floor(0.35 * max_records))`, but no more than there are; L2 gets the rest, or
        `max_l2` where that is less.

        :param max_records: used instead of the configured number.
        :param identity: how many L1 records there are; None where nobody has counted them.
        """
        records = self.max_records if max_records is None else max_records
        l1 = min(self.max_l1, l1_share(records), records if identity is None else identity)
        l2 = records - l1
        return records, l1, l2 if self.max_l2 is None else min(l2, self.max_l2)


def l1_share(records: int) -> int:
    """floor(0.35 × records), in whole numbers: 0.35 as a float makes 62 of 63."""
    return records * L1_PERCENT // 100


def parse_config(data: bytes) -> RootConfig:
    """The config of a file's bytes; anything in it that is unusable is named in `warnings`.

    :raises RecordError: they are no JSON object.
    """
    if not data.strip():
        raise RecordError("it is empty")
    document = without_nulls(decode_object(data))
    warnings: list[str] = []
    retrieval = _section(document, "retrieval", warnings)
    qmd = _section(document, "qmd", warnings) or {}
    default = RootConfig()
    return RootConfig(
        injection_mode=CLOSED if retrieval is None else _mode(retrieval, warnings),
        max_records=_count(retrieval, "maxRecords", default.max_records, 1, warnings),
        max_l1=_count(retrieval, "maxL1Records", default.max_l1, 0, warnings),
        max_l2=_count(retrieval, "maxL2Records", None, 0, warnings),
        min_relevance=_share(retrieval, "minRelevance", warnings),
        qmd_collection=_text(qmd, default.qmd_collection, warnings),
        qmd_enabled=_flag(qmd, default.qmd_enabled, warnings),
        sources=_sources(document, warnings),
        warnings=tuple(warnings),
    )


def _section(document: dict[str, Any], name: str, warnings: list[str]) -> dict[str, Any] | None:
    value = document.get(name, {})
    if isinstance(value, dict):
        return value
    used = "its defaults are" if name == "qmd" else f"mode {CLOSED} is"
    _warn(warnings, name, "an object", value, used)
    return None


def _mode(section: dict[str, Any], warnings: list[str]) -> InjectionMode:
    value = section.get("injectionMode", "scoped")
    for mode in get_args(InjectionMode):
        if value == mode:
            return mode  # type: ignore[no-any-return]
    _warn(warnings, "retrieval.injectionMode", "scoped, policy_only or wakeup", value, f"{CLOSED} is")
    return CLOSED


def _count(
    section: dict[str, Any] | None,
    key: str,
    default: Any,  # noqa: ANN401
    least: int,
    warnings: list[str],
) -> Any:  # noqa: ANN401
    value = (section or {}).get(key, default)
    if value is default or (type(value) is int and least <= value <= MOST_RECORDS):
        return value
    used = "the rest is" if default is None else f"{default} is"
    _warn(warnings, f"retrieval.{key}", f"a whole number from {least} to {MOST_RECORDS}", value, used)
    return default


def _share(section: dict[str, Any] | None, key: str, warnings: list[str]) -> float | None:
    value = (section or {}).get(key)
    if value is None or (type(value) in (int, float) and 0 <= value <= 1):
        return value
    _warn(warnings, f"retrieval.{key}", "a number from 0 to 1", value, "the model's own threshold is")
    return None


def _text(section: dict[str, Any], default: str, warnings: list[str]) -> str:
    value = section.get("collection", default)
    if isinstance(value, str) and value:
        return value
    _warn(warnings, "qmd.collection", "a name", value, f"{default} is")
    return default


def _flag(section: dict[str, Any], default: bool, warnings: list[str]) -> bool:
    value = section.get("enabled", default)
    if isinstance(value, bool):
        return value
    _warn(warnings, "qmd.enabled", "true or false", value, f"{str(default).lower()} is")
    return default


def _sources(document: dict[str, Any], warnings: list[str]) -> tuple[SourceSpec, ...]:
    value = document.get("sources", [])
    if not isinstance(value, list):
        _warn(warnings, "sources", "a list", value, "none is")
        return ()
    found = []
    for each in value:
        entry = {"source": each} if isinstance(each, str) else each
        name, path = (entry.get("source"), entry.get("path")) if isinstance(entry, dict) else (None, None)
        if isinstance(name, str) and name and (path is None or (isinstance(path, str) and path)):
            found.append(SourceSpec(name, path))
        else:
            _warn(warnings, "sources", 'a name, or {"source": name, "path": folder}', each, "the rest is")
    return tuple(dict.fromkeys(found))


def _warn(warnings: list[str], key: str, expected: str, value: object, used: str) -> None:
    warnings.append(f"config.json: {key}: expected {expected}, got {value!r:.60}; {used} used")
