"""Records of a folder, and records that an agent reads by itself: against the rules, one record at a time."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_rank.context import SessionContext, folder_key, folder_keys, project_key
from pi_rank.memory.records import decode_record
from tests.reference.processors import exclusion
from tests.support.memory import DEFAULTS, engine_on

FOLDERS = ["/", "/home", "/home/mina/work", "/home/mina/work/api", "/home/mina/workshop", "C:\\Code\\App"]
FOLDERS.append("/-home-mina-work")
PROJECTS = [None, "api", "Work", *FOLDERS]
READERS = [None, ["codex"], ["claude-code", "codex"], "codex", [7]]
RECORDS = [
    {
        "id": f"mem_{number:03}",
        "statement": f"Deploys of {number} are announced.",
        "scope": {"type": "project", "project": project} if project else {"type": "global"},
        **({"read_by": readers} if readers else {}),
        "status": "contested" if number % 7 == 0 else "active",
    }
    for number, (project, readers) in enumerate((p, r) for p in PROJECTS for r in READERS)
]
PLACES = [*FOLDERS, "/home/mina/work/api/src", "/home/mina", "work", "c:/code/app/src", "api"]
TEXTS = st.sampled_from([None, *PLACES])
FILES = st.sampled_from(
    ["main.py", "../work/a.py", "/home/mina/work/api/x.py", "C:\\Code\\App\\y.py", "/", ""]
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with engine_on(tmp_path_factory.mktemp("folders"), RECORDS) as opened:
        yield opened


@given(
    st.builds(
        SessionContext,
        latest_user_message=st.just("How are deploys announced?"),
        working_directory=st.none(),
        project_root=TEXTS,
        repository_id=TEXTS,
        recent_files_touched=st.lists(FILES, max_size=2).map(tuple),
        reader=st.sampled_from([None, "", "codex", "claude-code", "code", "pi"]),
    )
)
def test_traces_say_what_the_rules_say(engine, context):
    result = engine.build_retrieval_context(context)
    left_out = {id_: why for trace in result.traces for id_, why in trace.exclusion_reasons.items()}
    records = [decode_record(_line(record)) for record in RECORDS]
    expected = {record.id: why for record in records if (why := exclusion(record, context, ()))}
    assert left_out == expected


def _line(record):
    return json.dumps(DEFAULTS | record).encode()


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/a/b/", "/a/b"),
        ("/a/./b//c/../d", "/a/b/d"),
        ("/", "/"),
        ("/..", "/"),
        ("C:\\Code\\App", "/c:/code/app"),
        ("c:/code/APP/", "/c:/code/app"),
        ("\\\\server\\share\\x", "/server/share/x"),
        ("/Code/App", "/Code/App"),
        ("code/app", ""),
        ("app", ""),
        ("", ""),
        ("C:", ""),
    ],
)
def test_folder_keys_are_of_absolute_paths(path, key):
    assert folder_key(path) == key
    assert project_key(path) == (key or project_key(path))


def test_a_turn_is_in_every_folder_above():
    turn = SessionContext(
        latest_user_message="x",
        working_directory="/home/m.k/work",
        recent_files_touched=("src/a.py", "/tmp/b", "../up/c"),
    )
    assert folder_keys(turn) == {
        *("/", "/home", "/home/m.k", "/home/m.k/work", "/-home-m-k-work"),
        *(
            "/home/m.k/work/src",
            "/home/m.k/work/src/a.py",
            "/tmp",
            "/tmp/b",
            "/home/m.k/up",
            "/home/m.k/up/c",
        ),
    }
    assert folder_keys(SessionContext(latest_user_message="x", recent_files_touched=("src/a.py",))) == set()
    known = SessionContext(latest_user_message="x", project_root="/a/b", repository_id="/a/b")
    assert folder_keys(known) == {"/", "/a", "/a/b", "/-a-b"}
    assert folder_keys(SessionContext(latest_user_message="x", repository_id="/a/b")) == {"/a/b"}


def test_a_long_or_odd_path_is_known_as_claude_code_names_it():
    turn = SessionContext(latest_user_message="x", project_root="/home/m/🚀 é")
    assert "/-home-m-----" in folder_keys(turn)
    long = "/home/" + "a" * 250
    turn = SessionContext(latest_user_message="x", project_root=long)
    assert project_key("/-home-" + "a" * 194 + "-1x2y3z") in folder_keys(turn)
    assert project_key(long) == long
