"""JSON with comments: read as the agents read it, changed in one place, and changed back to the byte."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_rank.agents.install.json_edits import Wanted, with_element, without_element
from pi_rank.agents.install.jsonc import parse
from pi_rank.errors import ConfigError

HOOK = Wanted(
    ("hooks", "Prompt"),
    None,
    {"run": "pi-rank hook x"},
    lambda key, value: value == {"run": "pi-rank hook x"},
)
SERVER = Wanted(("mcp",), "pi-rank", {"command": "p"}, lambda key, value: key == "pi-rank")

names = st.text(st.characters(codec="utf-8"), max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
blanks = st.sampled_from(["", " ", "\n", "\r\n  ", "\t", '/* , ] } " */', ' // { [ "\n', "\n\n\t// x\n  "])


@st.composite
def written(draw, value):
    """A text of the value: with any blanks and comments between its signs.

    And a comma after the last element.
    """
    if isinstance(value, (dict, list)):
        items = [(None, v) for v in value] if isinstance(value, list) else list(value.items())
        parts = []
        for key, inner in items:
            name = "" if key is None else f"{json.dumps(key)}{draw(blanks)}:{draw(blanks)}"
            parts.append(f"{draw(blanks)}{name}{draw(written(inner))}{draw(blanks)}")
        trailing = f",{draw(blanks)}" if parts and draw(st.booleans()) else ""
        inside = ",".join(parts) + trailing or draw(blanks)
        return f"{{{inside}}}" if isinstance(value, dict) else f"[{inside}]"
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


documents = st.dictionaries(
    st.sampled_from(["hooks", "mcp", "other", "ü"]),
    values.filter(lambda value: not isinstance(value, (dict, list)))
    | st.dictionaries(st.sampled_from(["Prompt", "a"]), st.lists(values, max_size=3), max_size=2),
    max_size=4,
)


@given(st.data(), values)
def test_a_text_is_read_as_its_value(data, value):
    text = data.draw(blanks) + data.draw(written(value)) + data.draw(blanks)
    assert parse(text).value == value


@given(st.data(), documents, st.sampled_from([HOOK, SERVER]))
def test_an_element_comes_and_goes_and_the_rest_stays(data, value, wanted):
    text = data.draw(blanks) + data.draw(written(value)) + data.draw(blanks)
    try:
        changed = with_element(text, wanted)
    except ConfigError:
        inner = value.get(wanted.path[0])
        assert not isinstance(inner, dict) or not isinstance(inner.get("Prompt", []), list)
        return
    expected = json.loads(json.dumps(value))
    if wanted is HOOK:
        expected.setdefault("hooks", {}).setdefault("Prompt", []).append(HOOK.value)
    else:
        expected.setdefault("mcp", {})["pi-rank"] = SERVER.value
    assert parse(changed).value == expected
    assert with_element(changed, wanted) == changed
    # every sign of the old text is in the new one, in its order
    rest = iter(changed)
    assert all(sign in rest for sign in text)
    back = parse(without_element(changed, wanted)).value
    for key in wanted.path[:1]:
        if key not in value:
            back.pop(key)
    if wanted is HOOK and "Prompt" not in value.get("hooks", {"Prompt": 1}):
        back["hooks"].pop("Prompt")
    assert back == value


STYLES = {
    "two spaces": '{\n  "mcp": {\n    "a": {}\n  }\n}\n',
    "tabs and CRLF": '{\r\n\t"mcp": {\r\n\t\t"a": {}\r\n\t}\r\n}',
    "one line": '{"mcp": {"a": {}}}',
    "a comma after the last": '{\n  "mcp": {\n    "a": {},\n  },\n}\n',
    "a comment after the last": '{\n  "mcp": {\n    "a": {} // mine\n    /* too */\n  }\n}\n',
    "BOM": '\ufeff{\n  "mcp": {\n    "a": {}\n  }\n}\n',
    "empty inside": '{\n  "mcp": {\n  }\n}\n',
}


@pytest.mark.parametrize("style", STYLES)
def test_without_a_memory_of_it_the_way_back_is_exact_too(style):
    text = STYLES[style]
    changed = with_element(text, SERVER)
    assert changed != text
    assert without_element(changed, SERVER) == text


def test_the_files_own_indent_and_line_breaks_are_kept():
    assert with_element(STYLES["tabs and CRLF"], SERVER) == (
        '{\r\n\t"mcp": {\r\n\t\t"a": {},\r\n\t\t"pi-rank": {\r\n\t\t\t"command": "p"\r\n\t\t}\r\n\t}\r\n}'
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3: a comma or } is missing"),
        ('{"a": }', "no value"),
        ('{"a": 1} x', "something follows"),
        ('{"a": "x\n"}', "a string does not end"),
        ("[" * 1_000, "nested too deep"),
        ("{'a': 1}", "a name in quotation marks"),
        ('{"hooks": 3}', "hooks is not an object"),
        ('{"hooks": {"Prompt": {}}}', "hooks.Prompt is not a list"),
    ],
)
def test_what_is_no_such_json_is_refused_by_line(text, message):
    with pytest.raises(ConfigError, match=message):
        with_element(text, HOOK)
