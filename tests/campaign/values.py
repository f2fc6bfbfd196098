"""Texts, JSON values and records as an attacker, a careless program or a broken disk writes them."""

from __future__ import annotations

import copy
import json

from tests.campaign.corpus import as_text
from tests.support.disguises import POSES

_PLAIN = """deploy orchard production staging database migration queue worker release branch secret token
canary rollback python typescript rust build test coverage lint review commit merge friday window incident
cache index vector memory prompt agent model budget latency socket daemon server client schema
table column record project profile session scope 部署 测试 déploiement"""
WORDS = _PLAIN.split()
EVIL = [
    *POSES,
    *(f"\n{pose}" for pose in POSES[:8]),
    *("\r\n", "\u2028", "\x85", "\x0b", "\x0c", "\t", "\x00", "\x1b[31m", "\ufeff", "\u202e", "\u200b\u200d"),
    *("\U000e0041\U000e0042", "\ud800", "\udfff", "](http://x)", "<!-- ", "-->", "~~~", "=====", "-----"),
    *("../../etc/passwd", "qmd://x/../y", "\\", "'; DROP TABLE records;--", "%s%n{0}", "${HOME}", "$(id)"),
    *(
        "a" * 7_000,
        "#" * 3_000,
        "` " * 3_000,
        "🏳️‍🌈" * 500,
        "e\u0301" * 4_000,
        "ﷺ" * 50,
        "\u3164",
        "\u2800",
        "",
        " ",
    ),
]
NUMBERS = [0, -1, 1, 2, 2**31, 2**63, 10**30, 1e308, 1.5, -0.0, 1e-320, 0.125, 0.995]
KNOWN_WORDS = ["active", "contested", "L1", "L2", "project", "global", "avoid_pattern", "user", "text", "id"]


def words(chance, most=12):
    """A plain sentence."""
    return " ".join(chance.choices(WORDS, k=chance.randint(1, most)))


def text(chance):
    """A text: half of them plain, the others with something evil in them."""
    if chance.random() < 0.5:
        return words(chance)
    return f"{words(chance, 3)}{chance.choice(EVIL)}{words(chance, 3)}{chance.choice(EVIL)}"


def junk(chance, depth=0):
    """Any JSON value."""
    kind = chance.randrange(12 if depth < 4 else 8)
    if kind < 3:
        return [None, True, False][kind]
    if kind < 5:
        return chance.choice(NUMBERS)
    if kind < 8:
        return text(chance) if chance.random() < 0.6 else chance.choice(KNOWN_WORDS)
    if kind < 10:
        return [junk(chance, depth + 1) for _ in range(chance.randrange(4))]
    return {
        chance.choice([text(chance)[:40], *KNOWN_WORDS]): junk(chance, depth + 1)
        for _ in range(chance.randrange(4))
    }


def spoil(chance, value, times=1):
    """A copy of a JSON value with a few members replaced, left out, repeated or added, at any depth."""
    value = json.loads(json.dumps(value))
    for _ in range(times):
        at = value
        while isinstance(at, dict | list) and at:
            key = chance.choice(list(at)) if isinstance(at, dict) else chance.randrange(len(at))
            if isinstance(at[key], dict | list) and at[key] and chance.random() < 0.6:
                at = at[key]
                continue
            _spoil_member(chance, at, key)
            break
    return value


def _spoil_member(chance, holder, key):
    kind = chance.randrange(5)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif kind == 2 and isinstance(holder, dict):
        holder[text(chance)[:40] or "k"] = junk(chance)
    else:
        holder[key] = text(chance) if isinstance(holder[key], str) and kind == 3 else junk(chance)


def encoded(value):
    """JSON as bytes; lone surrogates are written as they are."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def raw_line(chance, value):
    """A JSON value as the text of a line: now and then one that is torn, doubled, or of another encoding."""
    data = json.dumps(value).encode() if chance.random() < 0.5 else encoded(value)
    if chance.random() < 0.3:
        data = damaged_json(chance, data)
    return as_text(data.replace(b"\n", b" "))


def damaged_json(chance, data):
    """JSON as bytes that is not quite what it was."""
    spots = [
        lambda: data[: chance.randrange(len(data))],
        lambda: flip_bits(chance, data, 1),
        lambda: b"\xef\xbb\xbf" + data,
        lambda: data + b"\r",
        lambda: data + b"\x00",
        lambda: b"[" * chance.choice([10, 1_000, 100_000]) + data,
        lambda: data[:-1] + b', "deep": ' + b'{"a":' * 100 + b"1" + b"}" * 100 + b"}",
        lambda: data[:-1] + b', "status": "active", "id": "mem_again_%d"}' % chance.randrange(20),
        lambda: data[:-1] + b', "n": NaN}',
        lambda: data[:-1] + b', "n": ' + chance.choice([b"1e999", b"-0", b"9" * 5_000, b"0x1", b"1."]) + b"}",
        lambda: data + data,
        lambda: data.replace(b'"', b"'"),
        lambda: b"\x0c" + data + b"\xc2\xa0",
        lambda: data.decode("utf-8", "replace").encode("utf-16-le", "replace"),
        lambda: data[:-1] + b', "big": "' + b"x" * chance.choice([1 << 20, 200_000]) + b'"}',
        lambda: data[:-1] + b', "many": [' + b"1e15," * chance.choice([100, 150_000]) + b"1]}",
    ]
    # The last two are long: rarer than the others, so that most of the time goes into many lines.
    chosen = chance.randrange(len(spots) - 2) if chance.random() < 0.99 else chance.randrange(len(spots))
    return spots[chosen]()


def flip_bits(chance, data, most):
    """The bytes with up to so many bits turned."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, most) if changed else 0):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def damage(chance, data):
    """The bytes of a file after a bad day: turned bits, a hole, a cut, swapped pages, more bytes."""
    changed = bytearray(data)
    size = max(1, len(data))
    at, length = chance.randrange(size), chance.choice([1, 4, 16, 512, 4_096, 65_536])
    kind = chance.randrange(8)
    if kind == 0:
        return flip_bits(chance, data, 1)
    if kind == 1:
        return flip_bits(chance, data, 8)
    if kind == 2:
        del changed[at:]
    elif kind == 3:
        changed[at : at + length] = bytes(len(changed[at : at + length]))
    elif kind == 4:
        changed[at : at + length] = chance.randbytes(len(changed[at : at + length]))
    elif kind == 5:
        changed += chance.randbytes(length)
    elif kind == 6:
        one, other = (chance.randrange(size // 4_096 + 1) * 4_096 for _ in range(2))
        first, second = changed[one : one + 4_096], changed[other : other + 4_096]
        if len(first) == len(second):
            changed[one : one + 4_096], changed[other : other + 4_096] = second, first
    else:
        del changed[at : at + length]
    return bytes(changed)


def record(chance, number):
    """A record of PI's shape: valid, of this profile and project or of another, in any status."""
    made = {
        "id": f"mem_{number:07d}",
        "layer": "L2",
        "scope": {"type": "global"},
        "tags": chance.sample(WORDS, 2),
        "statement": f"{words(chance)} canary{number}x",
        "evidence": [{"type": "session", "ref": "s1", "note": "n"}],
        "confidence": round(chance.random(), 2),
        "stability": "stable",
        "created_at": "2026-05-01T00:00:00Z",
        "updated_at": "2026-05-20T00:00:00Z",
        "review": {"cadence_days": 90},
        "status": "active",
        "supersedes": [],
        "superseded_by": [],
        "vault_ref": None,
    }
    kind = chance.random()
    if kind < 0.1:
        made["profile_id"] = "project:other"
    elif kind < 0.2:
        made["scope"] = {"type": "project", "project": "other-project"}
    elif kind < 0.3:
        made["status"] = chance.choice(["deleted", "deprecated", "superseded", "promoted"])
    elif kind < 0.35:
        made["status"] = "contested"
    elif kind < 0.45:
        made["does_not_apply_when"] = [words(chance, 2)]
    if chance.random() < 0.3:
        made["ruleType"] = chance.choice(
            ["avoid_pattern", "prefer_pattern", "convention", "correction", "new"]
        )
        made["confidence"] = chance.choice([0.85, 0.9, 0.97, 1, 1.0])
    return made
