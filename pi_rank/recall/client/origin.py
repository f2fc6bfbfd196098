"""Which servers a client may talk to: https anywhere, plain http only on this machine's own loopback
address.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Literal, NamedTuple

from pi_rank.errors import ConfigError

# Neither credentials, nor a path, a query, a fragment, white space or a control character has a place in
# this.
_ORIGIN = re.compile(
    r"(?P<scheme>https?)://(?P<host>[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?/?",
    re.IGNORECASE,
)
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
MAX_NAME = 253


class Origin(NamedTuple):
    """A server: `host` as a socket wants it, `authority` as the Host header does."""

    scheme: Literal["http", "https"]
    host: str
    port: int
    authority: str


def parse_origin(url: str) -> Origin:
    """An https origin, or an http one with a literal loopback address.

    :raises ConfigError: it is anything else. The message does not repeat the URL, which may hold a password.
    """
    match = _ORIGIN.fullmatch(url) if isinstance(url, str) else None
    if match is None:
        raise ConfigError("the memory URL must be an origin such as https://host or http://127.0.0.1:8001")
    scheme: Literal["http", "https"] = "https" if match["scheme"].lower() == "https" else "http"
    port = int(match["port"]) if match["port"] else {"http": 80, "https": 443}[scheme]
    if not 0 < port <= 65_535:
        raise ConfigError("the memory URL's port must be from 1 to 65535")
    host = _checked_host(match["host"])
    if scheme == "http" and not _is_loopback(host):
        raise ConfigError(
            "plain http is only for a loopback address written out: 127.0.0.1 or [::1]; use https"
        )
    shown = f"[{host}]" if ":" in host else host
    return Origin(scheme, host, port, shown if match["port"] is None else f"{shown}:{port}")


def _checked_host(host: str) -> str:
    if host.startswith("["):
        try:
            return str(ipaddress.IPv6Address(host[1:-1]))
        except ValueError:
            raise ConfigError("the memory URL's IPv6 address is not one") from None
    labels = host.removesuffix(".").split(".")
    if _NUMBER.fullmatch(labels[-1]):  # a resolver would read 127.1 or 2130706433 as an address
        try:
            return str(ipaddress.IPv4Address(host))
        except ValueError:
            raise ConfigError("the memory URL's IPv4 address must be four numbers from 0 to 255") from None
    if len(host) > MAX_NAME or not all(map(_LABEL.fullmatch, labels)):
        raise ConfigError("the memory URL's host name is not one")
    return host.lower()


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        return address == ipaddress.IPv6Address("::1")
    return address.is_loopback
