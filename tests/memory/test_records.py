from __future__ import annotations

import hashlib
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_rank.errors import RecordError
from pi_rank.memory.records import (
    DECODING_VERSION,
    MAX_LINE_BYTES,
    MemoryRecord,
    Review,
    Scope,
    decode_record,
    decode_stored,
    embedded_text,
    encode_record,
    text_hash,
)

NEEDED = {"id": "mem_a", "statement": "Use bun", "layer": "L2", "status": "active", "confidence": 0.9}


def decode(**fields):
    record = {**NEEDED, **fields}
    return decode_record(json.dumps({k: v for k, v in record.items() if v is not ...}).encode())


def refusal(**fields):
    with pytest.raises(RecordError) as refused:
        decode(**fields)
    return str(refused.value)


def test_a_whole_record():
    record = decode(
        scope={"type": "project", "project": "web", "domains": ["ui"]},
        tags=["bun", "tools"],
        review={"cadence_days": 30, "next_review": "2026-07-30", "change_condition": "c"},
        ruleType="prefer_pattern",
        does_not_apply_when=["writing Go"],
        vault_ref=None,
    )
    assert record.scope == Scope("project", "web", ("ui",))
    assert record.tags == ("bun", "tools")
    assert record.review == Review(30.0, "2026-07-30", "c")
    assert record.rule_type == "prefer_pattern"
    assert record.does_not_apply_when == ("writing Go",)
    assert record.extra == {}


def test_what_is_absent_has_a_plain_default():
    record = decode()
    assert (record.scope, record.tags, record.rule_type, record.review) == (Scope("global"), (), None, None)


def test_null_counts_as_absent_at_every_level():
    record = decode(
        tags=None, scope={"type": "domain", "domains": None}, evidence=[{"type": "m", "note": None}]
    )
    assert record.tags == ()
    assert record.scope == Scope("domain")
    assert record.evidence[0].note == ""


@pytest.mark.parametrize("field", ["id", "statement", "layer", "status", "confidence"])
@pytest.mark.parametrize("value", [..., None])
def test_what_a_record_needs(field, value):
    assert refusal(**{field: value}) == f"{field} is missing"


def test_the_file_gives_layer_and_project_where_the_record_does_not():
    bare = json.dumps({key: NEEDED[key] for key in NEEDED if key != "layer"}).encode()
    assert decode_record(bare, layer="L1").layer == "L1"
    assert decode_record(bare, layer="L2", project="web").scope == Scope("project", "web")
    own = json.dumps({**NEEDED, "scope": {"type": "global"}}).encode()
    assert decode_record(own, layer="L1", project="web").layer == "L2"
    assert decode_record(own, layer="L1", project="web").scope == Scope("global")


@pytest.mark.parametrize(
    ("fields", "field", "shown"),
    [
        ({"confidence": 3}, "confidence", "got 3"),
        ({"confidence": -0.1}, "confidence", "got -0.1"),
        ({"confidence": "high"}, "confidence", "got 'high'"),
        ({"confidence": True}, "confidence", "got True"),
        ({"status": "archived"}, "status", "got 'archived'"),
        ({"layer": "L9"}, "layer", "got 'L9'"),
        ({"tags": "bun"}, "tags", "got 'bun'"),
        ({"tags": ["bun", 5]}, "tags", "got ['bun', 5]"),
        ({"scope": {"type": "galaxy"}}, "scope", "got {'type': 'galaxy'}"),
        ({"statement": " \n"}, "statement", "got ' \\n'"),
        ({"id": ""}, "id", "got ''"),
        ({"id": "a\nb"}, "id", r"got 'a\nb'"),
        ({"id": "x" * 257}, "id", "got 'xxx"),
        ({"ruleType": 5}, "ruleType", "got 5"),
    ],
)
def test_a_refusal_names_the_field_and_its_value(fields, field, shown):
    message = refusal(**fields)
    assert message.startswith(field)
    assert shown in message


@pytest.mark.parametrize("project", [..., None, "", "  "])
def test_a_project_that_is_not_named_does_not_cost_the_record(project):
    scope = {"type": "project"} | ({} if project is ... else {"project": project})
    line = json.dumps(NEEDED | {"scope": scope}).encode()
    record = decode_record(
        line, project="web"
    )  # the file's project is not put in its place: PI does not either
    assert record.scope.names_no_project
    assert decode_record(encode_record(record)) == record
    assert not Scope("project", "web").names_no_project
    assert not Scope().names_no_project


def test_a_long_value_is_cut_in_the_message():
    assert len(refusal(status="x" * 10_000)) < 200


def test_unknown_keys_are_kept_even_one_named_extra():
    record = decode(owner={"name": "Ada"}, extra=[1, None])
    assert record.extra == {"owner": {"name": "Ada"}, "extra": [1, None]}
    assert decode_record(encode_record(record)) == record


@pytest.mark.parametrize("key", ["memory_kind", "stability"])
def test_a_word_of_a_later_version_does_not_cost_the_record(key):
    record = decode(**{key: "brand_new"})
    assert record.extra == {key: "brand_new"}
    assert json.loads(encode_record(record))[key] == "brand_new"


@pytest.mark.parametrize("word", ["anti_pattern", "never do this", "不要", ""])
def test_a_rule_type_is_kept_as_it_stands(word):
    record = decode(ruleType=word)
    assert (record.rule_type, record.extra) == (word, {})
    assert decode_record(encode_record(record)) == record


def test_a_lone_surrogate_becomes_the_replacement_character():
    statement = rb'"\ud83d x \udc00 \ud83d\ude00 \\ud83d"'
    line = b'{"id":"a","layer":"L2","status":"active","confidence":1,"statement":%b}' % statement
    assert decode_record(line).statement == "\ufffd x \ufffd 😀 \\ud83d"


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\x00\x00\x00\x00",
        b"[1]",
        b"{",
        b'{"id": NaN}',
        b'{"id": "\xff"}',
        b'{"a": 1e999}',
        b"[" * 100_000,
        b'{"id":"a","statement":"x","layer":"L2","status":"active","confidence":1,"deep":'
        + b"[" * 80
        + b"]" * 80
        + b"}",
    ],
)
def test_a_line_that_holds_no_record_is_refused(line):
    with pytest.raises(RecordError):
        decode_record(line)


def test_a_line_past_the_limit_is_refused_with_both_numbers():
    assert f"{MAX_LINE_BYTES:,}" in refusal(statement="x" * 5_000_000)


def test_a_line_that_grows_when_it_is_stored_is_kept_or_refused_and_never_a_trap():
    """1e15 is stored as 1000000000000000.0: what was accepted must be readable again, whatever its length."""
    for count, is_kept in ((60_000, True), (180_000, False)):
        line = json.dumps(NEEDED | {"numbers": []}).replace("[]", f"[{','.join(['1e15'] * count)}]").encode()
        assert len(line) < MAX_LINE_BYTES
        if is_kept:
            stored = encode_record(decode_record(line))
            assert len(stored) > MAX_LINE_BYTES
            assert decode_stored(stored).statement == "Use bun"
        else:
            with pytest.raises(
                RecordError, match=r"the record takes 3,.* bytes stored; at most 2,097,152 are"
            ):
                decode_record(line)


def test_a_line_of_the_longest_that_gets_a_scope_is_read_again():
    filler = "x" * (MAX_LINE_BYTES - len(json.dumps(NEEDED | {"note": ""})))
    line = json.dumps(NEEDED | {"note": filler}).encode()
    assert len(line) == MAX_LINE_BYTES
    stored = encode_record(decode_record(line, project="web"))
    assert len(stored) > MAX_LINE_BYTES
    assert decode_stored(stored).scope.project == "web"


def test_the_embedded_text_is_statement_and_tags():
    record = decode(tags=["bun", "tools"])
    assert embedded_text(record) == "Use bun\nbun, tools"
    assert embedded_text(decode()) == "Use bun"
    assert text_hash(record) != text_hash(decode())
    assert text_hash(record) == text_hash(decode(id="mem_b", tags=["bun", "tools"], confidence=0.1))


texts = st.text(st.characters(codec="utf-8"), max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
records = st.builds(
    MemoryRecord,
    id=st.text("abcdef_0123456789", min_size=1, max_size=12),
    statement=texts.filter(str.strip),
    layer=st.sampled_from(["L1", "L2", "L3"]),
    status=st.sampled_from(["active", "contested", "deleted"]),
    confidence=st.floats(0, 1),
    scope=st.sampled_from(
        [Scope(), Scope("global"), Scope("project", "项目"), Scope("domain", None, ("ui",))]
    ),
    tags=st.lists(texts, max_size=3).map(tuple),
    review=st.none() | st.builds(Review, cadence_days=st.none() | st.floats(0, 1e6), next_review=texts),
    rule_type=st.sampled_from([None, "correction"]),
    known_exceptions=st.lists(texts, max_size=2).map(tuple),
    extra=st.dictionaries(st.text("xyz", min_size=1), json_values, max_size=3),
)


@given(records)
def test_encoding_round_trips_and_is_canonical(record):
    encoded = encode_record(record)
    assert b"\n" not in encoded
    assert decode_record(encoded) == record
    assert encode_record(decode_record(encoded)) == encoded


def test_the_same_record_in_another_order_has_the_same_encoding():
    forward = {**NEEDED, "scope": {"type": "global"}, "b": {"y": 1, "x": 2}, "a": 1}
    backward = dict(reversed(forward.items())) | {"b": {"x": 2, "y": 1}}
    assert encode_record(decode_record(json.dumps(forward).encode())) == encode_record(
        decode_record(msgspec.json.encode(backward))
    )


PROJECT = {"scope": {"type": "project", "project": "web"}}
AS_FILES_HAVE_THEM = [
    NEEDED,
    {**NEEDED, **PROJECT, "tags": ["bun", "tools"], "ruleType": "testing", "memory_kind": "fact"},
    {**NEEDED, "layer": "L1", "review": {"cadence_days": 30}, "evidence": [{"type": "user", "ref": "r"}]},
    {
        **NEEDED,
        "layer": ...,
        "scope": ...,
        "stability": "new word",
        "ruleType": "new word",
        "unknown": {"b": [1]},
    },
    {**NEEDED, "tags": None, "scope": None, "created_at": None, "confidence": 1},
    {**NEEDED, "does_not_apply_when": ["in tests"], "known_exceptions": ["x"], "superseded_by": ["mem_b"]},
    {**NEEDED, "statement": "half an emoji \ud83d", "id": "mem_\u00e9"},
    {**NEEDED, "extra": 1, "valid_from": "2026-01-01"},
    {**NEEDED, "statement": " "},
    {**NEEDED, "id": "a\u2028b"},
    {**NEEDED, "id": "x" * 257},
    {**NEEDED, "confidence": 1.5},
    {**NEEDED, "confidence": "0.5"},
    {**NEEDED, "status": "unheard of"},
    {**NEEDED, "layer": "L4"},
    {**NEEDED, "scope": {"type": "project"}},
    {**NEEDED, "tags": "bun"},
    {**NEEDED, "statement": "x" * MAX_LINE_BYTES},
    [],
]


def test_lines_are_decoded_as_this_version_of_the_rules_does():
    """Where this fails, raise DECODING_VERSION: stores keep what lines were decoded to."""
    outcomes = []
    for value in AS_FILES_HAVE_THEM:
        fields = {k: v for k, v in value.items() if v is not ...} if isinstance(value, dict) else value
        for layer, project in (("L1", None), ("L2", "web")):
            try:
                record = decode_record(json.dumps(fields).encode(), layer=layer, project=project)
            except RecordError:
                outcomes.append(b"refused")
            else:
                outcomes += [encode_record(record), text_hash(record)]
    digest = hashlib.sha256(b"\n".join(outcomes)).hexdigest()[:16]
    assert (DECODING_VERSION, digest) == (2, "bbb987ba600007c9")
