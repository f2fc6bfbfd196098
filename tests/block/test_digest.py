from __future__ import annotations

import pytest

from pi_rank.block.digest import daily_digest, open_items

LOG = """# 2026-06-30

Talked about many things.
<!-- 2026-06-30T09:12:44.108Z -->
## Session ended
- Persistent Intelligence captured session end marker.
## Deploys
  - moved to friday
1. numbered
We agreed #decision: keep bun
#key token rotation
Not #keys, nor a #decisions list
----
## Session ended (14:02)
- kept note
"""


def _texts(digest):
    return [line.text for line in digest.lines]


def test_structure_in_order():
    digest = daily_digest(LOG)
    assert digest.sessions == 2
    assert digest.keep == "last"
    assert _texts(digest) == [
        "### 2026-06-30",
        "### Deploys",
        "- moved to friday",
        "1. numbered",
        "We agreed #decision: keep bun",
        "#key token rotation",
        "- kept note",
    ]


def test_without_structure_all_text_from_the_end():
    assert daily_digest("one\n\ntwo  \r\nthree") == (
        0,
        (("> ", "one"), ("> ", "two"), ("> ", "three")),
        "tail",
    )
    digest = daily_digest("prose\n## Session ended\nmore prose\n")
    assert (digest.sessions, _texts(digest), digest.keep) == (1, ["prose", "more prose"], "tail")


def test_the_marker_note_is_text_where_no_session_ended():
    note = "- Persistent Intelligence captured session end marker."
    assert _texts(daily_digest(note)) == [note]


def test_nothing():
    assert daily_digest("") == daily_digest(" \n\t\r\n") == (0, (), "tail")
    assert daily_digest("\u200b\n\u202e") == (0, (), "tail")


@pytest.mark.parametrize(
    "line",
    [
        "完成部署。#decision",
        "（#key）轮换密钥",
        "**#decision**",
        "_#decision_ keep bun",
        "部署完成#decision",
        "#decision使用 bun",
        "see docs/#key",
        "We agreed (#Decision): keep bun",
    ],
)
def test_a_tag_counts_behind_anything_but_a_letter_or_digit(line):
    assert _texts(daily_digest(f"prose\n{line}\nmore prose")) == [line]


@pytest.mark.parametrize(
    "line", ["page.html#key", "1#decision", "é#key", "#keys", "#decisions", "#key_rotation"]
)
def test_a_longer_word_is_no_tag(line):
    assert _texts(daily_digest(f"prose\n{line}")) == ["prose", line]


def test_stamps_are_not_text():
    assert _texts(daily_digest("<!-- 2026-06-30T09:12:44.108Z -->\nWent for a walk")) == ["Went for a walk"]


def test_open_items():
    pad = "# Pad\n- [ ] one\n- [x] done\n  * [ ] two \n- [ ]\n- [ ] \nfree\n- [X] x\r\n+ [ ] ## three\r\n"
    assert [line.text for line in open_items(pad)] == ["one", "two", "＃＃ three"]
    assert open_items("") == ()
