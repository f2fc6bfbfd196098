"""Which memory URLs are accepted."""

from __future__ import annotations

import pytest

from pi_rank.errors import ConfigError
from pi_rank.recall.client.origin import Origin, parse_origin


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://127.0.0.1:8001", Origin("http", "127.0.0.1", 8001, "127.0.0.1:8001")),
        ("http://127.0.0.1", Origin("http", "127.0.0.1", 80, "127.0.0.1")),
        ("http://127.255.3.4:1/", Origin("http", "127.255.3.4", 1, "127.255.3.4:1")),
        ("http://[::1]:8001", Origin("http", "::1", 8001, "[::1]:8001")),
        ("HTTPS://Memory.Example.org", Origin("https", "memory.example.org", 443, "memory.example.org")),
        ("https://localhost:8443/", Origin("https", "localhost", 8443, "localhost:8443")),
        ("https://10.0.0.7", Origin("https", "10.0.0.7", 443, "10.0.0.7")),
        (
            "https://xn--80ak6aa92e.example",
            Origin("https", "xn--80ak6aa92e.example", 443, "xn--80ak6aa92e.example"),
        ),
    ],
)
def test_accepted(url, origin):
    assert parse_origin(url) == origin


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8001",
        "http://0.0.0.0:8001",
        "http://127.1:8001",
        "http://2130706433:8001",
        "http://0x7f000001",
        "http://0177.0.0.1",
        "http://127.0.0.01",
        "http://[::ffff:127.0.0.1]:8001",
        "http://[::]:8001",
        "http://[fe80::1%25lo]",
        "http://10.0.0.1",
        "http://127.0.0.1.example.org",
        "https://127.1",
        "https://user@host",
        "https://user:secret@host",
        "https://host/recall",
        "https://host//",
        "https://host?x=1",
        "https://host/?",
        "https://host#f",
        "https://host:",
        "https://host:0",
        "https://host:65536",
        "https://host:99999999",
        "https://host:８００１",
        "https://ho st",
        "https://host\n",
        " https://host",
        "https://host\x00",
        "https://-host",
        "https://a..b",
        "https://",
        "https://ｌocalhost",
        "https://" + "a." * 130 + "org",
        "ftp://host",
        "host:8001",
        "",
        None,
        8001,
    ],
)
def test_refused_without_repeating_it(url):
    with pytest.raises(ConfigError) as refused:
        parse_origin(url)
    assert "secret" not in str(refused.value)
