"""Which files belong to a collection."""

from __future__ import annotations

import os

import pytest

from pi_rank.qmd.index.scanning import matcher, scan


def tree(root, *paths):
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("# x\n", encoding="utf-8")


def names(root, pattern="**/*.md"):
    return [file.path for file in scan(root, pattern).files]


def test_ignores(tmp_path):
    kept = ["a.md", "deep/er/b.md", "my.build/c.md", "dist.md"]
    left = ["x.txt", ".hidden.md", ".git/a.md", ".cache/a.md", "d/.dot/a.md"]
    left += [f"{name}/a.md" for name in ("node_modules", "vendor", "dist", "build", "p/node_modules")]
    tree(tmp_path, *kept, *left)
    (tmp_path / "empty.md").touch()
    assert names(tmp_path) == sorted(kept)


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("**/*.md", "a.md", True),
        ("**/*.md", "a/b/c.md", True),
        ("*.md", "a/b.md", False),
        ("*.md,docs/**", "docs/a/b.txt", True),
        ("notes/*.{md,txt}", "notes/a.txt", True),
        ("notes/*.{md,txt}", "notes/a.rst", False),
        ("n?te[sz].md", "notez.md", True),
        ("n?te[!s].md", "notes.md", False),
        ("**/2026-*/*.md", "log/2026-06/a.md", True),
        ("a+b (1).md", "a+b (1).md", True),
        ("", "a.md", False),
    ],
)
def test_patterns(pattern, path, matches):
    assert matcher(pattern)(path) is matches


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no symbolic links")
def test_links(tmp_path):
    root = tmp_path / "root"
    tree(root, "a.md", "sub/b.md")
    tree(tmp_path, "outside/secret.md")
    (root / "inside.md").symlink_to(root / "a.md")
    (root / "leak.md").symlink_to(tmp_path / "outside" / "secret.md")
    (root / "leaks").symlink_to(tmp_path / "outside")
    (root / "sub" / "loop").symlink_to(root)
    (root / "dangling.md").symlink_to(root / "nothing.md")
    assert names(root) == ["a.md", "inside.md", "sub/b.md"]


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="root may read everything")
def test_a_folder_without_permission_is_unknown_not_empty(tmp_path):
    tree(tmp_path, "a.md", "locked/b.md")
    (tmp_path / "locked").chmod(0)
    try:
        result = scan(tmp_path, "**/*.md")
    finally:
        (tmp_path / "locked").chmod(0o700)
    assert result.unreadable == ["locked"]
    assert "locked" in result.warnings[0]


def test_a_name_that_is_no_text(tmp_path):
    try:
        with open(os.fsencode(tmp_path) + b"/bad\xff.md", "wb") as stream:  # noqa: PTH123
            stream.write(b"x")
    except OSError:
        pytest.skip("this file system takes Unicode names only")
    result = scan(tmp_path, "**/*.md")
    assert result.files == []
    assert "not Unicode" in result.warnings[0]
