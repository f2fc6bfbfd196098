"""The memory record: one immutable typed value per line of PI's JSONL files."""

from __future__ import annotations

import hashlib
import re
from typing import Annotated, Any, Literal, get_args

import msgspec

from pi_rank.errors import RecordError

# Raise this whenever a line of a memory file may now be decoded, checked or encoded in another way than
# before, or may get another layer or scope from its file. A sync decodes only what has come since the last
# one, and everything where that one was by rules of another version.
DECODING_VERSION = 2

Layer = Literal["L1", "L2", "L3"]
Status = Literal["active", "contested", "deprecated", "superseded", "promoted", "deleted"]
Stability = Literal["low", "semi-stable", "stable"]
MemoryKind = Literal["fact", "event", "instruction", "task"]


class Scope(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Where a record applies: everywhere, in one project, or in some domains."""

    type: Literal["global", "project", "domain"] = "global"
    project: str | None = None
    domains: tuple[str, ...] = ()

    @property
    def names_no_project(self) -> bool:
        """Whether this is of one project but does not say which: it then applies in every one, as in PI."""
        return self.type == "project" and not (self.project or "").strip()


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a record rests on."""

    type: str = ""
    ref: str = ""
    note: str = ""


class Review(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """When a record is due to be looked at again."""

    cadence_days: float | None = None
    next_review: str | None = None
    change_condition: str | None = None


# A statement longer than this is a pasted file, not a memory; the line is skipped and says so.
MAX_LINE_BYTES = 1 << 20
# A line may grow when it is stored, as 1e15 does to 1000000000000000.0; past this it is skipped as well.
MAX_STORED_BYTES = 2 * MAX_LINE_BYTES
_MOST_GROWTH = 8  # times, of any line: one that could not pass the limit is not tried
MAX_ID_CHARACTERS = 256
MAX_NESTING = 64  # levels inside a key that this version does not know; PI's own records have three

GLOBAL_SCOPE = Scope()


class MemoryRecord(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,  # so that a line with unknown keys is noticed; they go to `extra`
    gc=False,  # JSON has no cycles, and a sync makes a hundred thousand of these
    rename={"rule_type": "ruleType"},
):
    """One record of memory. Field names are PI's, except `rule_type` (`ruleType` in the file).

    `rule_type` is the word of the file: one that nobody here knows is shown as it stands, since it may be a
    prohibition. `extra` holds the keys of the line that this type does not know, as decoded JSON, and the
    value of `memory_kind` or `stability` where it is a word that this version does not know.
    """

    id: str
    statement: str
    layer: Layer
    status: Status
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)]
    scope: Scope = GLOBAL_SCOPE
    tags: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    stability: Stability | None = None
    created_at: str | None = None
    updated_at: str | None = None
    review: Review | None = None
    supersedes: tuple[str, ...] = ()
    superseded_by: tuple[str, ...] = ()
    vault_ref: str | None = None
    resource_id: str | None = None
    profile_id: str | None = None
    thread_id: str | None = None
    normalized_key: str | None = None
    applies_when: tuple[str, ...] = ()
    does_not_apply_when: tuple[str, ...] = ()
    known_exceptions: tuple[str, ...] = ()
    valid_from: str | None = None
    valid_to: str | None = None
    rule_type: str | None = None
    memory_kind: MemoryKind | None = None
    extra: dict[str, Any] = {}


_KNOWN_KEYS = frozenset(MemoryRecord.__struct_encode_fields__) - {"extra"}
_REQUIRED_KEYS = ("id", "statement", "layer", "status", "confidence")
# Words that only describe a record. One that a later PI adds must not cost the user the record.
_OPEN_WORDS = {
    "memory_kind": frozenset(get_args(MemoryKind)),
    "stability": frozenset(get_args(Stability)),
}
# One JSON escape: a proper surrogate pair, a lone surrogate (group 1), or any other escape. Matching every
# escape in turn keeps an escaped backslash followed by "ud83d" what it is.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
# Control characters, line separators and bidirectional overrides: an id is shown in the middle of a line.
_NOT_IN_AN_ID = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]")
_FIELD_IN_MESSAGE = re.compile(r" - at `\$\.(\w+)")
_decode_json = msgspec.json.Decoder().decode
_decode_typed = msgspec.json.Decoder(MemoryRecord).decode
_encode_json = msgspec.json.Encoder(order="deterministic").encode


def decode_record(line: bytes, *, layer: Layer | None = None, project: str | None = None) -> MemoryRecord:
    """One line of a memory file as a record.

    A record needs `id`, `statement`, `status`, `confidence` (0 to 1) and a layer: its own, else `layer`,
    the one of the file it is in. A record without a scope belongs to `project` where the file is a
    project's, else it is global. `null` counts as absent. A lone surrogate (half an emoji, which JavaScript
    writes as `\\ud83d`) becomes U+FFFD.

    :raises RecordError: naming the field and its value, where the line is not such a record.
    """
    record = _decode_line(line, layer, project)
    if len(line) > MAX_STORED_BYTES // _MOST_GROWTH:
        size = len(encode_record(record))
        if size > MAX_STORED_BYTES:
            raise RecordError(f"the record takes {size:,} bytes stored; at most {MAX_STORED_BYTES:,} are")
    return record


def decode_stored(payload: bytes) -> MemoryRecord:
    """The record that `encode_record` made `payload` of, which may be longer than a line.

    :raises RecordError: it is not the payload of a record.
    """
    plain = _decode_plain(payload)
    return _to_record(_decode_members(payload)) if plain is None else plain


def _decode_line(line: bytes, layer: Layer | None, project: str | None) -> MemoryRecord:
    plain = None if len(line) > MAX_LINE_BYTES else _decode_plain(line)
    if plain is not None and (project is None or plain.scope is not GLOBAL_SCOPE):
        return plain
    defaults: dict[str, Any] = {} if layer is None else {"layer": layer}
    if project is not None:
        defaults["scope"] = {"type": "project", "project": project}
    fields = decode_object(line)
    try:
        return _to_record({**defaults, **fields})
    except RecordError:
        if b"null" not in line:
            raise
        return _to_record({**defaults, **without_nulls(fields)})


def _decode_plain(line: bytes) -> MemoryRecord | None:
    """The record of a line with nothing unusual about it: most lines, in a third of the time. Else None."""
    try:
        record = _decode_typed(line)
        _check_values(record)
    except (msgspec.MsgspecError, RecordError, RecursionError):
        return None
    return None if record.extra else record


def decode_object(line: bytes) -> dict[str, Any]:
    """One JSON line as an object.

    :raises RecordError: the line is longer than `MAX_LINE_BYTES`, is not JSON, or is no object.
    """
    if len(line) > MAX_LINE_BYTES:
        raise RecordError(f"the line has {len(line):,} bytes; at most {MAX_LINE_BYTES:,} are read")
    return _decode_members(line)


def _decode_members(line: bytes) -> dict[str, Any]:
    if b"\\ud" in line or b"\\uD" in line:
        line = _ESCAPE.sub(lambda escape: b"\\ufffd" if escape[1] else escape[0], line)
    try:
        value = _decode_json(line)
    except msgspec.MsgspecError as error:
        raise RecordError(f"not JSON: {error}") from None
    except RecursionError:
        raise RecordError("not usable: the JSON is nested too deeply") from None
    if not isinstance(value, dict):
        raise RecordError(f"expected a JSON object, got {_shown(value)}")
    return value


def without_nulls(value: Any, levels: int = 3) -> Any:  # noqa: ANN401
    """Decoded JSON without null members, in as many levels as PI's own objects have."""
    if levels and isinstance(value, dict):
        return {key: without_nulls(member, levels - 1) for key, member in value.items() if member is not None}
    if levels and isinstance(value, list):
        return [without_nulls(item, levels - 1) for item in value]
    return value


def encode_record(record: MemoryRecord) -> bytes:
    """The record as one canonical JSON line, from which `decode_stored` gives an equal record."""
    if record.scope == GLOBAL_SCOPE and record.scope is not GLOBAL_SCOPE:
        record = msgspec.structs.replace(record, scope=GLOBAL_SCOPE)  # defaults are left out by identity
    if not record.extra:
        return msgspec.json.encode(record)
    fields = msgspec.to_builtins(record)
    extra = fields.pop("extra")
    return _encode_json({**extra, **fields})


def tags_text(record: MemoryRecord) -> str:
    """The record's tags as one searchable text."""
    return " ".join(record.tags)


def embedded_text(record: MemoryRecord) -> str:
    """The text whose embedding stands for the record: its statement, and its tags on a line of their own."""
    return f"{record.statement}\n{', '.join(record.tags)}" if record.tags else record.statement


def text_hash(record: MemoryRecord) -> bytes:
    """SHA-256 of `embedded_text`: records that say the same share one vector."""
    return hashlib.sha256(embedded_text(record).encode()).digest()


def _to_record(fields: dict[str, Any]) -> MemoryRecord:
    """The record of a line's members, which this takes apart."""
    extra = {key: fields.pop(key) for key in fields.keys() - _KNOWN_KEYS}
    for key, known in _OPEN_WORDS.items():
        word = fields.get(key)
        if word.__class__ is str and word not in known:
            extra[key] = fields.pop(key)
    for key, value in extra.items():
        _check_nesting(key, value, MAX_NESTING)
    fields["extra"] = extra
    try:
        record = msgspec.convert(fields, MemoryRecord)
    except msgspec.ValidationError as error:
        raise RecordError(_explain(str(error), fields)) from None
    _check_values(record)
    return record


def _check_nesting(key: str, value: object, levels: int) -> None:
    """Refuse what could be decoded here but not encoded deeper in the stack."""
    if levels == 0:
        raise RecordError(f"{key}: nested more than {MAX_NESTING} levels deep")
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_nesting(key, member, levels - 1)


def _check_values(record: MemoryRecord) -> None:
    if not 0 < len(record.id) <= MAX_ID_CHARACTERS or _NOT_IN_AN_ID.search(record.id):
        raise RecordError(
            f"id: expected 1 to {MAX_ID_CHARACTERS} printable characters, got {_shown(record.id)}"
        )
    if not record.statement.strip():
        raise RecordError(f"statement: expected some text, got {_shown(record.statement)}")


def _explain(message: str, fields: dict[str, Any]) -> str:
    """msgspec's message, led by the field that it is about, and that field's value."""
    for key in _REQUIRED_KEYS:
        if fields.get(key) is None:
            return f"{key} is missing"
    where = _FIELD_IN_MESSAGE.search(message)
    if where is None or where[1] not in fields:
        return message
    return f"{where[1]}: {_cut(message)}, got {_shown(fields[where[1]])}"


def _shown(value: object) -> str:
    return _cut(repr(value), 60)


def _cut(text: str, length: int = 100) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."
