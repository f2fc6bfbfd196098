"""The prefix check, the contract's scenarios under every design, and random interleavings of them."""

from __future__ import annotations

import argparse
import json
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pi_rank.cli.commands.prefix_check import configure
from pi_rank.errors import ContextError
from pi_rank.injection import Injector, quarantine
from pi_rank.injection.history.live import marks_in
from pi_rank.injection.prefix_check import Request, check_prefixes
from tests.injection.sessions import DESIGNS, TOPICS, Session
from tests.injection.shapes import DIALECTS, user


def body(*texts: str, **extra) -> dict:
    roles = ("user", "assistant")
    return {"messages": [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)], **extra}


def test_a_conversation_that_only_grows_has_no_break():
    report = check_prefixes([body("a"), body("a", "b", "c"), body("a", "b", "c", "d", "e")])
    assert (report.requests, report.breaks, report.kept_prefix_ratio) == (3, (), 1.0)


def test_a_break_names_the_first_block_that_differs():
    report = check_prefixes([body("abc", "b"), body("abX", "b", "c")])
    (found,) = report.breaks
    header = len(b'\x1e{"role":"user"}\x1fT')
    assert (found.request, found.path, found.kept_bytes) == (2, "messages[0].content", header + 2)
    assert found.rewritten_bytes == report.rewritten_bytes == 1 + len(b'\x1e{"role":"assistant"}\x1fTb')


def test_text_appended_to_the_last_block_keeps_the_prefix():
    assert check_prefixes([body("hi"), body("hi\n\nmemory", "ok", "next")]).breaks == ()
    assert (
        check_prefixes([body("hi", "ok"), body("hi\n\nmemory", "ok")]).breaks[0].path == "messages[0].content"
    )


def test_a_string_and_one_text_block_are_the_same():
    listed = {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]}
    assert check_prefixes([body("a"), listed]).breaks == ()


def test_what_is_no_content_is_looked_through():
    first = body("a", temperature=0.1, model="x", stream=True)
    marked = {
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}],
            },
            {"role": "assistant", "content": "b"},
        ]
    }
    assert check_prefixes([first, marked]).breaks == ()
    point = {"messages": [{"role": "user", "content": [{"text": "a"}, {"cachePoint": {"type": "default"}}]}]}
    assert check_prefixes([point, body("a", "b")]).breaks == ()


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"system": "two"}, "system"),
        ({"system": [{"type": "text", "text": "two"}]}, "system[0]"),
        ({"tools": [{"name": "x"}], "system": "one"}, "tools[0]"),
        ({"toolConfig": {"tools": [{"toolSpec": {}}]}, "system": "one"}, "tools[0]"),
        ({}, "messages[0].content"),
    ],
)
def test_tools_and_system_come_first(change, path):
    report = check_prefixes([body("a", system="one"), body("a", "b", **change)])
    assert [item.path for item in report.breaks] == [path]


def test_a_request_that_ends_early_is_a_break():
    assert (
        check_prefixes([body("a", "b", "c"), body("a", "b")]).breaks[0].path
        == "messages[2].content (missing)"
    )


def test_thinking_blocks_after_a_difference_are_counted():
    thought = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "b"}]
    after = [{"role": "assistant", "content": thought}, {"role": "user", "content": "c"}]
    first = {"messages": [{"role": "user", "content": "a + memory"}]}
    second = {"messages": [{"role": "user", "content": "a"}, *after]}
    report = check_prefixes([first, second])
    assert (report.thinking_invalidated, report.breaks[0].thinking_invalidated) == (1, 1)


def test_declared_breaks_are_reported_but_allowed():
    report = check_prefixes([body("a", "b"), Request(body("b"), "compaction")])
    assert (len(report.breaks), report.undeclared) == (1, ())
    with pytest.raises(ContextError, match="request 1 declares 'because': use one of compaction, quarantine"):
        check_prefixes([Request(body("a"), "because")])


def test_server_state_is_continued():
    first = {"input": "a", "instructions": "one"}
    second = {"input": "b", "instructions": "one", "previous_response_id": "r"}
    assert check_prefixes([first, second, {**second, "input": "c"}]).breaks == ()
    assert check_prefixes([first, {"input": "b", "instructions": "one"}]).breaks[0].path == "input"


def cached(count: int, *, marked: int | None) -> dict:
    """One user message of `count` blocks, a breakpoint on one of them."""
    blocks = [{"type": "text", "text": f"block {index:03}"} for index in range(count)]
    if marked is not None:
        blocks[marked]["cache_control"] = {"type": "ephemeral"}
    return {"messages": [{"role": "user", "content": blocks}]}


def test_the_look_back_from_a_breakpoint_ends_after_twenty_blocks():
    assert check_prefixes([cached(10, marked=9), cached(20, marked=19)]).cached_prefix_ratio == 0.5
    assert check_prefixes([cached(10, marked=9), cached(30, marked=29)]).cached_prefix_ratio == 0.0
    assert check_prefixes([cached(10, marked=9), cached(29, marked=28)]).cached_prefix_ratio > 0.3
    assert check_prefixes([cached(10, marked=None), cached(20, marked=None)]).cached_prefix_ratio == 0.5


def scenario(session: Session, name: str) -> None:
    session.turn("tell me about tests")
    if name == "plain":
        session.turn("and about deploys and tests")
    elif name == "tool loop":
        session.tools("look up the database", steps=3)
    elif name == "parallel tools":
        session.tools("look up the review rules", steps=1, parallel=3)
    elif name == "retry":
        session.retry("and about linting")
    elif name == "restore":
        session.restart()
        session.turn("and about linting")
    elif name == "two injectors":
        session.injectors.append(Injector(session.memory, source="second", mode=session.injectors[0].mode))
        session.turn("and about linting")
    elif name == "empty recall":
        session.turn("ok")
    elif name == "model switch":
        session.switch()
    elif name == "compaction":
        session.turn("and about deploys")
        session.turn("and about linting")
        session.compact()
        session.turn("and about tests")
    session.turn("what of the review of deploys?")
    session.turn("back to tests please")


SCENARIOS = (
    "plain",
    "tool loop",
    "parallel tools",
    "retry",
    "restore",
    "two injectors",
    "empty recall",
    "model switch",
    "compaction",
)


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_persist_never_breaks_the_prefix(dialect, name):
    session = Session(dialect)
    scenario(session, name)
    report = session.check()
    assert report.undeclared == ()
    assert len(report.breaks) == (1 if name == "compaction" else 0)
    assert "About" not in json.dumps(session.shown())


@pytest.mark.parametrize("dialect", ["strands", "anthropic"])
def test_breakpoints_read_back_everything_that_was_sent_before(dialect):
    session = Session(dialect)
    for turn in range(6):
        session.turn(f"turn {turn} about {TOPICS[turn % 5]}")
    sizes = [len(json.dumps(request.body)) for request in session.requests]
    assert session.check().cached_prefix_ratio > 0.85 * sum(sizes[:-1]) / sum(sizes[1:])


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("design", [design for design in DESIGNS if design != "persist"])
def test_the_other_designs_break_it(design, name):
    session = Session("anthropic", design)
    scenario(session, name)
    report = session.check()
    assert len(report.undeclared) >= 2
    assert report.thinking_invalidated > 0
    assert report.kept_prefix_ratio < 1.0


def test_every_turn_on_tool_results_keeps_the_prefix():
    for dialect in DIALECTS:
        session = Session(dialect, trigger="every_turn")
        session.tools("look up the database", steps=3, parallel=2)
        session.tools("look up the review", steps=2)
        assert session.check().breaks == ()


def test_quarantine_is_the_one_declared_edit():
    session = Session("strands")
    session.turn("tell me about tests")
    session.turn("and about deploys")
    first = next(marks_in(session.messages))
    quarantine(session.messages, first.id)
    session.declared = "quarantine"
    session.turn("and about linting")
    report = session.check()
    assert report.undeclared == ()
    assert [(item.request, item.declared, item.path) for item in report.breaks] == [
        (3, "quarantine", "messages[0].content[1]")
    ]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["turn", "tools", "parallel", "retry", "restart", "compact", "switch", "ok", "edit"]),
        st.sampled_from(TOPICS),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS, st.sampled_from(DIALECTS), st.sampled_from(["user_turn", "every_turn"]))
def test_random_interleavings_never_break_the_prefix_nor_repeat_a_record(steps, dialect, trigger):
    session = Session(dialect, trigger=trigger)
    for name, topic in steps:
        if name in ("turn", "retry"):
            getattr(session, name)(f"about {topic}")
        elif name in ("tools", "parallel"):
            session.tools(f"look up {topic}", steps=2, parallel=1 + (name == "parallel"))
        elif name == "ok":
            session.turn("ok")
        elif name == "edit":
            session.memory.set(f"mem_{topic}_0", statement=f"About {topic}: edited {len(session.requests)}")
        else:
            getattr(session, name)()
    assert session.check().undeclared == ()
    live: dict[str, str] = {}
    for mark in marks_in(session.messages):
        for record_id, version in mark.versions_by_id():
            assert live.get(record_id) != version, f"{record_id} was written twice"
            live[record_id] = version
    assert "About" not in json.dumps(session.shown())


def parsed(*argv: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="pi-rank prefix-check")
    configure(parser)
    return parser.parse_args(argv)


def command(tmp_path, lines: list, *options: str) -> int:
    path = tmp_path / "requests.jsonl"
    path.write_text("\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines), encoding="utf-8")
    args = parsed(str(path), *options)
    return args.run(args)


def test_the_command_prints_breaks_and_exits_1(tmp_path, capsys):
    assert command(tmp_path, [body("a", "b"), body("X", "b", "c")]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "request 2: BREAK at messages[0].content; 25 bytes rewritten, 0 thinking blocks invalidated",
        "2 requests, 1 undeclared breaks, 0 declared; kept prefix 41.9%, cached 29.0%; "
        "25 bytes rewritten, 0 thinking blocks invalidated",
    ]


def test_the_command_takes_declarations_and_prints_json(tmp_path, capsys):
    lines = [body("a", "b"), {"body": body("b", "c"), "declared": "compaction"}, body("c")]
    assert command(tmp_path, lines, "--declare", "3=compaction", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["requests"], report["undeclared"], len(report["breaks"])) == (3, 0, 2)


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (["{"], [], "line 1 is not JSON"),
        ([{"prompt": "x"}], [], 'line 1 is no request body: it has none of "messages", "input", "contents"'),
        ([body("a")], ["--declare", "2=compaction"], "N must be a request from 1 to 1"),
        ([body("a")], ["--declare", "1=luck"], "request 1 declares 'luck'"),
    ],
)
def test_the_command_says_what_is_wrong_and_exits_2(tmp_path, capsys, lines, options, message):
    assert command(tmp_path, lines, *options) == 2
    assert message in capsys.readouterr().err


def test_a_missing_file_is_named(capsys):
    args = parsed("no-such-file.jsonl")
    assert args.run(args) == 2
    assert "no-such-file.jsonl" in capsys.readouterr().err


def test_an_image_in_bytes_can_be_checked():
    image = {"image": {"format": "png", "source": {"bytes": b"x"}}}
    first = {"messages": [{"role": "user", "content": [image]}]}
    assert check_prefixes([first, {"messages": [*first["messages"], user("a", "strands")]}]).breaks == ()


def test_a_file_without_requests_is_an_error_and_not_a_conversation_without_breaks(tmp_path, capsys):
    assert command(tmp_path, []) == 2
    assert "holds no request" in capsys.readouterr().err


def gemini(*texts, tools=True):
    contents = [
        {"role": "user" if at % 2 == 0 else "model", "parts": [{"text": text}]}
        for at, text in enumerate(texts)
    ]
    declared = {"tools": [{"functionDeclarations": [{"name": "run"}]}]} if tools else {}
    return {
        "systemInstruction": {"role": "user", "parts": [{"text": "be brief"}]},
        "contents": contents,
        **declared,
    }


def test_gemini_bodies_are_read(tmp_path, capsys):
    assert command(tmp_path, [gemini("a"), gemini("a", "b", "c"), gemini("a", "b", "c", "d", "e")]) == 0
    assert "3 requests, 0 undeclared breaks" in capsys.readouterr().out
    assert command(tmp_path, [gemini("a"), gemini("A", "b", "c")]) == 1
    assert "BREAK at contents[0].parts[0]" in capsys.readouterr().out
    assert command(tmp_path, [gemini("a"), gemini("a", "b", "c", tools=False)]) == 1


@pytest.mark.parametrize("marked", [False, True])
def test_the_time_is_in_proportion_to_what_was_sent(marked):
    def conversation(turns):
        messages, sent = [], []
        for turn in range(turns):
            messages = [
                *messages,
                {"role": "user", "content": [{"type": "text", "text": f"question {turn}"}]},
            ]
            last = {
                **messages[-1]["content"][0],
                **({"cache_control": {"type": "ephemeral"}} if marked else {}),
            }
            request = [*messages[-6:-1], {"role": "user", "content": [last]}]
            sent.append(json.loads(json.dumps({"messages": request})))
            messages.append({"role": "assistant", "content": [{"type": "text", "text": f"answer {turn}"}]})
        return sent

    def best(requests):
        times = []
        for _ in range(5):
            begun = time.process_time()
            check_prefixes(requests)
            times.append(time.process_time() - begun)
        return min(times)

    small, large = conversation(60), conversation(600)
    assert best(large) < 40 * best(small)  # ten times as much; comparing each with each would be a hundred
