"""Token files: only the user's own, and only whole tokens."""

from __future__ import annotations

import os
import sys

import pytest

from pi_rank.errors import ConfigError
from pi_rank.serving.token_file import read_token

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permission bits, links and pipes of POSIX")


@pytest.fixture
def token_file(tmp_path):
    def write(data, mode=0o600):
        path = tmp_path / "token"
        path.write_bytes(data)
        path.chmod(mode)
        return path

    return write


def test_reads_and_strips(token_file):
    assert read_token(token_file(b"  s3cret-t\xc3\xb6ken\r\n")) == "s3cret-töken"


def test_rotates(token_file):
    assert read_token(token_file(b"one")) == "one"
    assert read_token(token_file(b"two")) == "two"


def test_longest(token_file):
    assert read_token(token_file(b"x" * 8192)) == "x" * 8192


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"x" * 8193, "8192"),
        (b"a b", "white space"),
        (b"a\nb", "white space"),
        (b"a\x00b", "control"),
        ("a\u00a0b".encode(), "white space"),
        ("\ufeffab".encode(), "control"),
        (b"\xff\xfe", "UTF-8"),
    ],
)
def test_refused_tokens(token_file, data, why):
    path = token_file(data)
    with pytest.raises(ConfigError, match=why) as refused:
        read_token(path)
    assert str(path) not in str(refused.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o660, 0o644])
def test_others_have_no_business_with_it(token_file, mode):
    with pytest.raises(ConfigError, match="chmod 600"):
        read_token(token_file(b"x", mode))


def test_links_are_refused_anywhere_in_the_path(tmp_path, token_file):
    path = token_file(b"x")
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(ConfigError, match="symbolic link"):
        read_token(link)
    (tmp_path / "real").mkdir()
    inside = tmp_path / "real" / "token"
    inside.write_bytes(b"x")
    inside.chmod(0o600)
    (tmp_path / "folder").symlink_to(tmp_path / "real")
    assert read_token(inside) == "x"
    with pytest.raises(ConfigError, match="symbolic link"):
        read_token(tmp_path / "folder" / "token")


def test_folders_and_missing_files_are_refused(tmp_path):
    with pytest.raises(ConfigError):
        read_token(tmp_path)
    with pytest.raises(ConfigError, match="No such file"):
        read_token(tmp_path / "missing")
    with pytest.raises(ConfigError):
        read_token("/")


@pytest.mark.timeout(10)
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    with pytest.raises(ConfigError, match="regular"):
        read_token(pipe)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give a file away")
def test_another_users_file_is_refused(token_file):
    path = token_file(b"x")
    os.chown(path, 12345, -1)
    with pytest.raises(ConfigError, match="another user"):
        read_token(path)
