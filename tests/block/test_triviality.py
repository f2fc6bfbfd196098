from __future__ import annotations

import pytest

from pi_rank.block.triviality import ACKNOWLEDGEMENTS, is_trivial

TRIVIAL = """
ok|OK!!|Yes..|thanks!|THANKS 🙏🏽|👍 thank you.|sounds   good…|got it?!|ok, thanks!|Ｄｏｎｅ！|好的。
謝謝～|了解です！|네!|спасибо)|¡Gracias!|d’accord.|👍👍|👨‍👩‍👧‍👦🎉|🇫🇷|👍!!!|a|改|é́́́
/|/help| /model opus|/plugin:run x
"""
REQUESTS = """
help|why?|fix it|ok then what|thanks to caching|done with tests?|nextjs|true story|c++ !|réé́é
部署|修复|배포|テスト|部署🚀|请继续吧|/etc/hosts is wrong|/usr/bin/env
"""


def _each(prompts):
    return prompts.strip("\n").replace("\n", "|").split("|")


@pytest.mark.parametrize("prompt", ["", " \n\t", *_each(TRIVIAL)])
def test_trivial(prompt):
    assert is_trivial(prompt)


@pytest.mark.parametrize("prompt", _each(REQUESTS))
def test_request(prompt):
    assert not is_trivial(prompt)


@pytest.mark.parametrize("phrase", sorted(ACKNOWLEDGEMENTS))
def test_every_acknowledgement_in_any_case_with_any_close(phrase):
    for prompt in (phrase, phrase.upper(), f"{phrase}!", f" {phrase} 👍🏽", f"{phrase}。"):
        assert is_trivial(prompt)


def test_long_prompts():
    assert is_trivial("🎉" * 100_000)
    assert not is_trivial("x" * 200_000)
    assert not is_trivial("🎉" * 100_000 + " deploy")
