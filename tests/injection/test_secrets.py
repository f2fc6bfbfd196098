"""Credentials are masked in each known form, however they are dressed; ordinary text is left alone."""

from __future__ import annotations

import time

import pytest

from benchmarks.doors.masks import main
from pi_rank.injection import inject
from pi_rank.injection.secrets import find_secrets, mask_secrets

MIXED = "q7Rk2ZpX9vLw4TnB8sYd3HfJ6mCg1AeUoQiK5"
HEX = "9f8e7d6c5b4a39281706f5e4d3c2b1a0" * 2
# The part that must not be seen, and the text around it.
FORMS = {
    "AWS access key": ("AKIAQ7RK2ZPX9VLW4TNB", "{}"),
    "AWS session key": ("ASIAQ7RK2ZPX9VLW4TNB", "{}"),
    "AWS secret": ("wJ4lrXUt7FEMI/K7MDENG+bPxRfi8YzKLm3nQpS", "aws_secret_access_key={}"),
    "GitHub": (f"ghp_{MIXED[:36]}", "{}"),
    "GitHub app": (f"ghs_{MIXED[:36]}", "{}"),
    "GitHub fine": (f"github_pat_{MIXED}{MIXED}", "{}"),
    "GitLab": (f"glpat-{MIXED[:20]}", "{}"),
    "GitLab runner": (f"glrt-{MIXED[:20]}", "{}"),
    "GitLab deploy": (f"gldt-{MIXED[:20]}", "{}"),
    "Anthropic": (f"sk-ant-api03-{MIXED}", "{}"),
    "OpenAI": (f"sk-{MIXED}", "{}"),
    "OpenAI project": (f"sk-proj-{MIXED}", "{}"),
    "Slack": (f"xoxb-1234567890-{MIXED[:24]}", "{}"),
    "Slack app": (f"xapp-1-A012ABCDEF-1234567890-{MIXED}", "{}"),
    "Slack webhook": (f"T00000000/B00000000/{MIXED[:24]}", "https://hooks.slack.com/services/{}"),
    "Google key": (f"AIza{MIXED[:35]}", "{}"),
    "Google secret": (f"GOCSPX-{MIXED[:28]}", "{}"),
    "Google access": (f"ya29.{MIXED}", "{}"),
    "Google refresh": (f"1//0g{MIXED}", "{}"),
    "Stripe": (f"sk_live_{MIXED[:24]}", "{}"),
    "Stripe webhook": (f"whsec_{MIXED[:32]}", "{}"),
    "PyPI": (f"pypi-AgEIcHlwaS5vcmc{MIXED}", "{}"),
    "npm": (f"npm_{MIXED[:36]}", "{}"),
    "JWT": (f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0x.{MIXED}", "{}"),
    "PEM": (f"MIIE{MIXED}", "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----"),
    "OpenSSH": (f"b3Bl{MIXED}", "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----"),
    "PGP": (MIXED, "-----BEGIN PGP PRIVATE KEY BLOCK-----\n{}\n-----END PGP PRIVATE KEY BLOCK-----"),
    "PEM in JSON": (f"MIIE{MIXED}", "-----BEGIN PRIVATE KEY-----\\n{}\\n-----END PRIVATE KEY-----"),
    "SendGrid": (f"SG.{MIXED[:22]}.{MIXED}", "{}"),
    "Mailgun": (f"key-{HEX[:32]}", "{}"),
    "Twilio": (f"SK{HEX[:32]}", "{}"),
    "Hugging Face": (f"hf_{MIXED[:34]}", "{}"),
    "DigitalOcean": (f"dop_v1_{HEX}", "{}"),
    "Azure storage": (f"{MIXED}{MIXED}w==", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={};"),
    "Azure SAS": (f"{MIXED}%3D", "https://x.example/c?sv=2022-11-02&sig={}"),
    "Telegram": (f"123456789:AAH{MIXED[:32]}", "{}"),
    "Discord": (f"MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcDE.{MIXED}", "{}"),
    "Shopify": (f"shpat_{HEX[:32]}", "{}"),
    "Databricks": (f"dapi{HEX[:32]}", "{}"),
    "Grafana": (f"glsa_{MIXED[:32]}_{HEX[:8]}", "{}"),
    "Vault": (f"hvs.{MIXED}", "{}"),
    "Doppler": (f"dp.pt.{MIXED}abcdefg", "{}"),
    "Linear": (f"lin_api_{MIXED}", "{}"),
    "Notion": (f"secret_{MIXED}abcdef", "{}"),
    "Atlassian": (f"ATATT3xFfGF0{MIXED}", "{}"),
    "database URL": ("hunter2pass", "postgres://admin:{}@db.example:5432/prod"),
    "web URL": ("p4ssw0rd", "https://user:{}@example.com/x"),
    "bearer": (MIXED, "Authorization: Bearer {}"),
    "basic": ("YWxhZGRpbjpvcGVuc2VzYW1lMQ==", '"authorization": "Basic {}"'),
    "age": (f"AGE-SECRET-KEY-1{MIXED.upper()}{MIXED.upper()[:20]}", "{}"),
    "Supabase": (f"sbp_{HEX[:40]}", "{}"),
    "Replicate": (f"r8_{MIXED}", "{}"),
    "Groq": (f"gsk_{MIXED}{MIXED[:15]}", "{}"),
    "xAI": (f"xai-{MIXED}{MIXED}", "{}"),
    "Tailscale": (f"tskey-auth-{MIXED[:12]}-{MIXED}", "{}"),
    "Fly": (f"fm2_{MIXED}{MIXED}", "FlyV1 {}"),
    "1Password": (f"ops_eyJ{MIXED}{MIXED}", "{}"),
    "Docker": (f"dckr_pat_{MIXED[:27]}", "{}"),
    "Netlify": (f"nfp_{MIXED}", "{}"),
    "Firebase": (f"AAAA{MIXED[:7]}:APA91b{MIXED}{MIXED}", "{}"),
    "password": ("tr0ub4dor", "password: {}"),
    "JSON member": (f"x{MIXED[:20]}", '{{"client_secret": "{}"}}'),
    "Ruby member": (f"x{MIXED[:20]}", ":api_key => '{}'"),
}
ORDINARY = [
    "The password must have eight characters; a secret is kept, a token is passed.",
    "token: required, password: see the wiki, secret = none",
    "sk-learn and task-force-of-the-release-team-in-lisbon and risk-adjusted-returns",
    "https://example.com:8080/path@v2 and user@example.com and git@example.com:acme/app.git",
    "commit 9f8e7d6c5b4a39281706f5e4d3c2b1a0deadbeef and sha256 of the file",
    "mem_20260111_deploystyle, 550e8400-e29b-41d4-a716-446655440000",
    "Bearer tokens are sent in the Authorization header: see docs",
    "key: value pairs; api_key=<your key>; access_key=${ACCESS_KEY}; token=os.environ['TOKEN']",
    "部署前请检查密码和令牌：不要写入日志。",
]


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("around", ["the key is {} ok", "{}", "x {}\nnext line"])
def test_every_form_is_masked(name, around):
    secret, form = FORMS[name]
    text = around.format(form.format(secret))
    assert len(find_secrets(text)) == 1
    masked = mask_secrets(text)
    assert secret not in masked
    assert f"[masked {find_secrets(text)[0]}]" in masked
    assert not find_secrets(masked)


ISSUED = [name for name, (_, form) in FORMS.items() if form == "{}"]


@pytest.mark.parametrize("name", [name for name in ISSUED if name not in ("Twilio", "Telegram", "OpenAI")])
@pytest.mark.parametrize("before", ["x", "KEY_", "my_", "'", "=", "é"])
def test_a_letter_or_a_mark_in_front_hides_nothing(name, before):
    secret, _ = FORMS[name]
    assert secret not in mask_secrets(before + secret)
    assert FORMS["OpenAI"][0] not in mask_secrets("my_" + FORMS["OpenAI"][0])


def _wide(text):
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("unseen", ["\u200b", "\u00ad", "\u2060", "\ufe0f", "\u3164", "\U000e0041"])
def test_what_nobody_sees_hides_nothing(name, unseen):
    secret, form = FORMS[name]
    split = unseen.join([secret[:3], secret[3:5], secret[5:]])
    masked = mask_secrets(f"è {form.format(split)} à")
    assert masked.startswith("è ")
    assert masked.endswith(" à")
    assert not find_secrets(masked)
    assert secret[5:] not in masked


@pytest.mark.parametrize("name", ISSUED)
def test_full_width_letters_hide_nothing(name):
    secret, _ = FORMS[name]
    assert _wide(secret) not in mask_secrets(f"a {_wide(secret)} b")


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_left_alone(text):
    assert mask_secrets(text) == text
    assert find_secrets(text) == []


def test_a_plain_text_that_is_injected_is_masked():
    messages = [{"role": "user", "content": "How?"}]
    result = inject(messages, "key AKIA\u200bQ7RK2ZPX9VLW4TNB", source="s")
    assert result.text.endswith("key [masked AWS access key]")
    refused = inject([{"role": "user", "content": "How?"}], "x", source="s", secrets="refuse")
    assert refused.wrote
    text = "postgres://admin:hunter2pass@db.example/prod"
    refused = inject([{"role": "user", "content": "How?"}], text, source="s", secrets="refuse")
    assert refused.reason == "the text holds what looks like: password in a URL"


def test_several_are_masked_in_their_order():
    text = f"{FORMS['GitHub'][0]} then https://u:p4ssw0rd@h/ then {FORMS['Groq'][0]}"
    assert find_secrets(text) == ["GitHub token", "password in a URL", "Groq key"]
    assert mask_secrets(text) == (
        "[masked GitHub token] then https://u:[masked password in a URL]@h/ then [masked Groq key]"
    )


@pytest.mark.parametrize(
    "unit",
    [
        "-----BEGIN RSA PRIVATE KEY-----",
        "eyJ",
        "sk-",
        "://a:",
        "token=",
        "=",
        "a",
        "xapp-",
        "Bearer ",
        "\u200b",
    ],
)
def test_the_cost_is_linear(unit):
    def seconds(length):
        text = (unit * length)[:length]
        start = time.process_time()
        mask_secrets(text)
        return time.process_time() - start

    small = max(min(seconds(4_096) for _ in range(5)), 1e-4)
    assert (
        min(seconds(32_768) for _ in range(3)) < 32 * small
    )  # eight times the text; sixty-four if quadratic


def test_false_alarms_are_counted_by_a_command(capsys):
    assert main([]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("| sample |"))
    assert row.split(" | ")[3:5] == ["0", "none"]
