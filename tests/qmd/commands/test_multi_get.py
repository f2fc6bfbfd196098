"""Several documents at once: text as qmd 2.8.3 was seen to write it."""

from __future__ import annotations

import csv
import io
import json
from xml.etree import ElementTree

import pytest


@pytest.fixture
def docs(world):
    world.ok("collection", "add", str(world.documents()), "--name", "d")
    return world


LIST = ["multi-get", "alpha.md,sub/beta.md", "--max-bytes", "200", "-l", "1"]
REASON = "File too large (0KB > 0KB). Use 'qmd get qmd://d/sub/beta.md' to retrieve."
BODY = "1: # Deploy checklist\n2: \n3: [... truncated 8 more lines]"


def test_text(docs):
    rule = "=" * 60
    assert docs.ok(*LIST) == (
        f"\n{rule}\nFile: qmd://d/alpha.md  #872703\n{rule}\n\n{BODY}\n"
        f"\n{rule}\nFile: qmd://d/sub/beta.md  #b34e8f\n{rule}\n\n[SKIPPED: {REASON}]\n"
    )


def test_json_of_a_list_and_of_a_glob(docs):
    first, second = json.loads(docs.ok(*LIST, "--json"))
    assert first == {
        "file": "qmd://d/alpha.md",
        "docid": "#872703",
        "title": "Deploy checklist",
        "body": BODY,
    }
    assert (second["file"], second["skipped"], second["reason"]) == ("qmd://d/sub/beta.md", True, REASON)
    (only,) = json.loads(docs.ok("multi-get", "sub/*.md", "--json"))
    assert only["file"] == "sub/beta.md"


def test_markdown(docs):
    out = docs.ok(*LIST, "--md")
    head = "## qmd://d/alpha.md\n\n**docid:** `#872703`\n\n**Title:** Deploy checklist\n\n"
    assert out.startswith(f"{head}```\n{BODY}\n```\n\n## qmd://d/sub/beta.md\n")
    assert out.endswith(f"> {REASON}\n\n")
    docs.write("docs/fence.md", "# Fence\n\n````\ncode\n````\n")
    docs.ok("update")
    assert "\n`````\n1: # Fence" in docs.ok("multi-get", "fence.md", "--md")


def test_csv_xml_and_files(docs):
    docs.ok("context", "add", "qmd://d/sub", 'The "sub" folder')
    rows = list(csv.reader(io.StringIO(docs.ok(*LIST, "--csv"))))
    assert rows[0] == ["docid", "file", "title", "context", "skipped", "body"]
    assert rows[1] == ["#872703", "qmd://d/alpha.md", "Deploy checklist", "", "false", BODY]
    assert rows[2][3:] == ['The "sub" folder', "true", REASON]
    tree = ElementTree.fromstring(docs.ok(*LIST, "--xml").encode())
    assert [child.tag for child in tree[0]] == ["file", "title", "body"]
    assert tree[1].find("reason").text == REASON
    files = docs.ok(*LIST, "--files").splitlines()
    assert files == ["#872703,qmd://d/alpha.md", '#b34e8f,qmd://d/sub/beta.md,"The ""sub"" folder",[SKIPPED]']


def test_what_is_not_there(docs):
    ran = docs.qmd("multi-get", "alpha.md,nope.md", "-l", "1")
    assert ran.code == 0 and "File not found: nope.md" in ran.err
    assert docs.qmd("multi-get", "nope.md").code == 1
