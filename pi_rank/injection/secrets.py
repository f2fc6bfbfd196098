"""Finds credentials in text that is about to be stored, by the forms that their issuers publish."""

from __future__ import annotations

import re

# Each form is specific enough that prose does not meet it. Keys without a form of their own (a bare hex
# string, a password in a sentence) cannot be told from text, and are not looked for.
PATTERNS: dict[str, str] = {
    "private key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----(?:(?!-----BEGIN)[\s\S])*?"
    r"(?:-----END (?:[A-Z]+ )*PRIVATE KEY-----|\Z)",
    "AWS access key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})",
    "GitLab token": r"\bglpat-[A-Za-z0-9_-]{20,}",
    "Anthropic key": r"\bsk-ant-[A-Za-z0-9_-]{20,}",
    "OpenAI key": r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}",
    "Slack token": r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    "Google key": r"\bAIza[0-9A-Za-z_-]{35}",
    "Stripe key": r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
    "PyPI token": r"\bpypi-[A-Za-z0-9_-]{40,}",
    "npm token": r"\bnpm_[A-Za-z0-9]{36}",
    "JSON web token": r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
}
# Every form contains one of these; looking for them first costs a hundredth of the expressions.
HINTS = (
    *(b"PRIVATE KEY-----", b"AKIA", b"ASIA", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_"),
    *(b"glpat-", b"sk-", b"xox", b"AIza", b"k_live_", b"k_test_", b"pypi-", b"npm_", b"eyJ"),
)
_NAMES = list(PATTERNS)
_ANY = re.compile("|".join(f"(?P<k{i}>{pattern})" for i, pattern in enumerate(PATTERNS.values())))


def find_secrets(text: str) -> list[str]:
    """The kinds of credential in a text, in the order in which they stand there; never the credentials."""
    return [_kind(match) for match in _ANY.finditer(text)] if _suspect(text) else []


def mask_secrets(text: str) -> str:
    """The text with each credential replaced by `[masked AWS access key]` and the like."""
    return _ANY.sub(lambda match: f"[masked {_kind(match)}]", text) if _suspect(text) else text


def _suspect(text: str) -> bool:
    data = text.encode("utf-8", "surrogatepass")  # bytes are searched several times faster than wide text
    return any(hint in data for hint in HINTS)


def _kind(match: re.Match[str]) -> str:
    return _NAMES[int((match.lastgroup or "k0")[1:])]
