"""Settings: options, then our environment, then REMANENTIA's."""

from __future__ import annotations

import pytest

from pi_rank.errors import ConfigError
from pi_rank.recall.server.settings import Settings, audit_path, number_variable
from pi_rank.serving.settings import Token, is_loopback, token_from


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True)]
    + [(host, False) for host in ("0.0.0.0", "::", "10.0.0.1", "example.org", "")],
)
def test_loopback(host, loopback):
    assert is_loopback(host) == loopback


def test_a_token_opens_every_address():
    assert Settings(host="0.0.0.0", token=Token(lambda: "x")).host == "0.0.0.0"


@pytest.mark.parametrize(
    "fields",
    [
        {"body_limit": 0},
        {"rate": -1},
        {"burst": 0},
        {"port": -1},
        {"audit_max_bytes": 1},
        {"audit_backups": -1},
    ],
)
def test_out_of_range(fields):
    with pytest.raises(ConfigError):
        Settings(**fields)


def test_names_of_the_environment(tmp_path):
    old = {"REMANENTIA_API_RATE": "7"}
    assert number_variable("RATE", 60, {}) == 60
    assert number_variable("RATE", 60, old) == 7
    assert number_variable("RATE", 60, {**old, "PI_RANK_API_RATE": "8"}) == 8
    assert number_variable("RATE", 60, {**old, "PI_RANK_API_RATE": ""}) == 7
    for wrong in ("x", "-1", "1.5", "٣"):
        with pytest.raises(ConfigError, match="PI_RANK_API_RATE"):
            number_variable("RATE", 60, {"PI_RANK_API_RATE": wrong})
    assert audit_path(tmp_path, {}) == tmp_path
    assert audit_path(tmp_path, {"REMANENTIA_API_AUDIT_LOG": "OFF"}) is None


def test_tokens():
    assert token_from(None, {}) is None
    token = token_from(None, {"PI_RANK_API_TOKEN": "s3cret"})
    assert token.matches(b"s3cret")
    assert not token.matches(b"s3cre")
    assert not token.matches(b"")
    assert "s3cret" not in repr(token)
    assert "s3cret" not in repr(Settings(token=token))
    with pytest.raises(ConfigError) as refused:
        token_from(None, {"PI_RANK_API_TOKEN": "two words"})
    assert "two" not in str(refused.value)
