"""Which prompts ask for nothing: a block is built for none of them."""

from __future__ import annotations

import re
import unicodedata

from pi_rank.block.graphemes import count_graphemes

MIN_CHARACTERS = 4
MIN_CJK_CHARACTERS = 2

# Whole prompts that answer or close and ask for nothing, case, commas and closing marks aside, in languages
# that many who write code speak. Phrases that go on ("okay then", "no problem") are left out on purpose: a
# block too many costs bytes, one too few costs the answer.
ACKNOWLEDGEMENTS = frozenset(
    phrase.strip()
    for line in """
    ok, okay, ok thanks, yes, yeah, yep, yup, yes please, no, nah, nope, sure, right, correct, exactly, agreed
    true, false, thanks, thank you, thx, ty, cheers, sounds good, looks good, all good, good, fine, great
    perfect, nice, cool, lgtm, got it, understood, makes sense, done, next, continue, go on, go ahead, proceed
    好的, 是的, 对的, 可以, 嗯嗯, 谢谢, 多谢, 明白, 明白了, 知道了, 收到, 没问题, 继续, 謝謝, 繼續
    はい, いいえ, うん, 了解, 了解です, ありがとう, ありがとうございます, わかりました, 続けて, いいね
    네, 아니요, 좋아, 좋아요, 감사합니다, 고마워, 고마워요, 알겠습니다, 계속
    да, нет, ок, хорошо, спасибо, понятно, понял, поняла, ладно, верно, готово, отлично, продолжай
    sí, si, gracias, vale, claro, perfecto, entendido, listo, de acuerdo, continúa
    sim, não, obrigado, obrigada, certo, perfeito, entendi, beleza
    oui, non, merci, d'accord, parfait, compris, entendu, c'est bon
    ja, nein, danke, genau, richtig, passt, perfekt, verstanden, alles klar, weiter, fertig
    sì, grazie, va bene, perfetto, capito, fatto
    """.strip().splitlines()
    for phrase in line.split(",")
)

_SLASH_COMMAND = re.compile(r"/[\w:.-]*(?:\s|$)")
_SPELLING = str.maketrans({"’": "'", ",": " ", "、": " "})
_OPENING = "¡¿\"'“‘«("


def is_trivial(prompt: str) -> bool:
    """Whether `prompt` is too short to ask anything, a slash command, an acknowledgement, or emoji only.

    Fewer than four characters are too short, counted as a reader counts them; two are enough in the scripts
    that write a word with one (Han, kana, Hangul).
    """
    text = prompt.strip()
    if _SLASH_COMMAND.match(text):
        return True
    if len(text) > 200:
        return not any(map(str.isalnum, text)) and any(map(_is_emoji, text))
    said = _without_marks(text)
    if said in ACKNOWLEDGEMENTS or (not said and any(map(_is_emoji, text))):
        return True
    return count_graphemes(text) < MIN_CHARACTERS and sum(map(_is_cjk, text)) < MIN_CJK_CHARACTERS


def _without_marks(text: str) -> str:
    """Case and width folded, single blanks, no commas, no emoji at an end, no opening or closing marks."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().translate(_SPELLING).split())
    end = len(folded)
    while end and _is_mark(folded[end - 1]):
        end -= 1
    start = 0
    while start < end and (folded[start] in _OPENING or folded[start].isspace() or _is_emoji(folded[start])):
        start += 1
    return folded[start:end]


def _is_mark(char: str) -> bool:
    return _is_emoji(char) or unicodedata.category(char)[0] in "PSZC"


def _is_emoji(char: str) -> bool:
    """An emoji, or a part of one: symbol, skin tone, joiner, selector, keycap or tag."""
    if char in "\u200d\ufe0e\ufe0f\u20e3" or "\U0001f3fb" <= char <= "\U0001f3ff":
        return True
    return unicodedata.category(char) == "So" or "\U000e0020" <= char <= "\U000e007f"


def _is_cjk(char: str) -> bool:
    if char < "\u1100":
        return False
    return unicodedata.name(char, "").startswith(
        ("CJK UNIFIED", "CJK COMPAT", "HIRAGANA", "KATAKANA", "HANGUL")
    )
