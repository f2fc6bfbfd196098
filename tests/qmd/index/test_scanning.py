"""Which files belong to a collection."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from pi_rank.qmd.index.scanning import scan


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


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no symbolic links")
def test_links_to_what_is_left_out(tmp_path):
    """A link does not open what the walk passes by: dot files, and folders of other programs."""
    tree(tmp_path, "a.md", ".env", ".secret/b.md", "node_modules/x.md", "p/vendor/c.md", "build")
    for name, target in [
        ("env.md", ".env"),
        ("b.md", ".secret/b.md"),
        ("nm.md", "node_modules/x.md"),
        ("c.md", "p/vendor/c.md"),
        ("file-called-build.md", "build"),
    ]:
        (tmp_path / name).symlink_to(tmp_path / target)
    assert names(tmp_path) == ["a.md", "file-called-build.md"]


@pytest.fixture
def bottomless():
    """A folder with 1,500 folders in each other, which the standard library could not remove again."""
    path = Path(tempfile.mkdtemp())
    before = os.getcwd()  # noqa: PTH109
    try:
        os.chdir(path)
        for _ in range(1500):
            os.mkdir("deep")  # noqa: PTH102
            os.chdir("deep")
        os.chdir(before)
        yield path
    finally:
        os.chdir(before)
        subprocess.run(["rm", "-rf", str(path)], check=True)


@pytest.mark.skipif(os.name != "posix", reason="rm removes what Python cannot")
def test_folders_in_each_other_without_end(bottomless):
    """Deeper than Python's stack, and than the longest path that can be opened."""
    tree(bottomless, "a.md", "deep/deep/b.md")
    result = scan(bottomless, "**/*.md")
    assert [file.path for file in result.files] == ["a.md", "deep/deep/b.md"]
    assert len(result.unreadable) == len(result.warnings) == 1
    assert "cannot be read (File name too long)" in result.warnings[0]


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
