"""The forms of credentials, as their issuers publish them or as text that carries them is built.

No form asks for a boundary that a letter or an underscore in front would hide (`KEY_AKIA…`). Each repetition
is bounded or begins with what cannot repeat, so that a search takes time in proportion to the text.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Form(NamedTuple):
    """One form. `hints`: texts of which each match holds one, found in a hundredth of the time.

    A group `value` is what is masked; `drawn`: only where it looks drawn. `before`: what must stand right
    before the match.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    drawn: bool = False
    before: re.Pattern[str] | None = None


def _form(
    kind: str, hints: str, pattern: str, *, flags: int = 0, drawn: bool = False, before: str = ""
) -> Form:
    ends = re.compile(f"{before}$", re.IGNORECASE) if before else None
    return Form(kind, tuple(hints.split()), re.compile(pattern, flags), drawn, ends)


_KEY_WORD = (
    r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|account[_-]?key"
    r"|client[_-]?secret|credentials?|auth[_-]?key|encryption[_-]?key|signing[_-]?key)"
)

# Looked for in any text.
ANYWHERE = (
    _form(
        "private key",
        "-----BEGIN",
        r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----BEGIN)[\s\S])*?"
        r"(?:-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----|(?=-----BEGIN)|\Z)",
    ),
    _form(
        "value of a key word",
        "= :",
        r"[:=](?=>?\s{0,4}[\"']?(?P<value>[^\s\"'`,;&<>()\[\]{}]{8,512}))",
        drawn=True,
        before=rf"{_KEY_WORD}[\"']?\s{{0,4}}:?",
    ),
)
# Looked for where there is a word of `LONG_WORD` characters or more, by hints in such words.
IN_LONG_WORDS = (
    _form(
        "password in a URL",
        "://",
        r"://[^\s/:@\"'<>]{0,100}:(?P<value>[^\s/@\"'<>]{3,200})@",
    ),
    _form(
        "Authorization header",
        "uthorization UTHORIZATION",
        r"authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:(?:bearer|basic|token|apikey)\s{1,4})?"
        r"(?P<value>[A-Za-z0-9._~+/=:-]{16,4096})",
        flags=re.IGNORECASE,
        drawn=True,
    ),
    _form("bearer token", "earer", r"[Bb]earer\s{1,4}(?P<value>[A-Za-z0-9._~+/=-]{20,4096})", drawn=True),
    _form("signature of a shared link", "sig=", r"[?&]sig=(?P<value>[A-Za-z0-9%+/=_-]{20,200})"),
    _form("AWS access key", "AKIA ASIA", r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])"),
    _form(
        "GitHub token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{50,255}",
    ),
    _form(
        "GitLab token",
        "glpat- glrt- gldt- glcbt- glptt- glft- glsoat- glimt- glagent-",
        r"gl(?:pat|rt|dt|cbt|ptt|ft|soat|imt|agent)-[A-Za-z0-9_.-]{20,255}",
    ),
    _form("Anthropic key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{20,255}"),
    _form(
        "OpenAI key",
        "sk-",
        r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,255}"
        r"|(?<![A-Za-z])sk-(?=[A-Za-z_-]{0,40}[0-9])(?=[a-z0-9_-]{0,40}[A-Z])[A-Za-z0-9_-]{20,255}",
    ),
    _form("Slack token", "xox xapp-", r"xox[abeoprs]-[A-Za-z0-9-]{10,255}|xapp-[0-9A-Za-z-]{30,255}"),
    _form(
        "Slack webhook",
        "hooks.slack",
        r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,255}",
    ),
    _form("Google key", "AIza", r"AIza[0-9A-Za-z_-]{35}"),
    _form("Google secret", "GOCSPX- ya29.", r"GOCSPX-[A-Za-z0-9_-]{20,255}|ya29\.[A-Za-z0-9_.-]{20,2048}"),
    _form("Google refresh token", "1//0", r"1//0[A-Za-z0-9_-]{30,255}"),
    _form(
        "Stripe key",
        "k_live_ k_test_ whsec_",
        r"[rsp]k_(?:live|test)_[A-Za-z0-9]{16,255}|whsec_[A-Za-z0-9+/=]{20,255}",
    ),
    _form("PyPI token", "pypi-", r"pypi-[A-Za-z0-9_-]{40,1024}"),
    _form("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _form(
        "JSON web token",
        "eyJ",
        r"eyJ[A-Za-z0-9_-]{10,512}\.eyJ[A-Za-z0-9_-]{10,8192}\.[A-Za-z0-9_-]{10,4096}",
    ),
    _form("SendGrid key", "SG.", r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,128}"),
    _form("Mailgun key", "key-", r"key-[0-9a-f]{32}(?![0-9a-f])"),
    _form("Twilio key", "SK AC", r"(?<![A-Za-z0-9])(?:SK|AC)[0-9a-f]{32}(?![0-9A-Za-z])"),
    _form("Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{30,64}"),
    _form("DigitalOcean token", "_v1_", r"do[opr]_v1_[0-9a-f]{60,64}"),
    _form("Telegram token", ":AA", r"(?<!\d)\d{8,10}:AA[A-Za-z0-9_-]{30,64}"),
    _form("Discord token", ".", r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,64}"),
    _form("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _form("Databricks token", "dapi", r"dapi[0-9a-f]{32}"),
    _form("Grafana token", "glsa_ glc_", r"glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|glc_[A-Za-z0-9+/=]{32,1024}"),
    _form("Vault token", "hvs. hvb. hvr.", r"hv[sbr]\.[A-Za-z0-9_-]{24,512}"),
    _form("Doppler token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,128}"),
    _form("Linear key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,128}"),
    _form("Notion token", "secret_ ntn_", r"secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])|ntn_[A-Za-z0-9]{40,64}"),
    _form(
        "Atlassian token", "ATATT ATCTT ATBB", r"AT(?:ATT|CTT)[A-Za-z0-9_=-]{20,512}|ATBB[A-Za-z0-9]{24,64}"
    ),
    _form("age key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[0-9A-Z]{40,80}"),
    _form("Supabase key", "sbp_ sb_secret_", r"sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{20,128}"),
    _form("Replicate token", "r8_", r"r8_[A-Za-z0-9]{30,64}"),
    _form("Groq key", "gsk_", r"gsk_[A-Za-z0-9]{40,128}"),
    _form("xAI key", "xai-", r"xai-[A-Za-z0-9]{40,128}"),
    _form("Tailscale key", "tskey-", r"tskey-[a-z]{2,12}-[A-Za-z0-9]{4,32}-[A-Za-z0-9]{16,64}"),
    _form("Fly token", "fm1 fm2", r"fm[12][a-z]?_[A-Za-z0-9_+/=,-]{30,4096}"),
    _form("1Password token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9_=-]{40,8192}"),
    _form("Docker token", "dckr_", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,64}"),
    _form("Netlify token", "nfp_ nfc_ nfo_ nfu_", r"nf[pcou]_[A-Za-z0-9]{36,64}"),
    _form("Firebase key", ":APA91b", r"AAAA[A-Za-z0-9_-]{7}:APA91b[A-Za-z0-9_-]{60,256}"),
)
LONG_WORD = 16
