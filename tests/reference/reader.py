"""What a hasty reader takes a line for, by its looks: letters by their shape, nothing that is not seen."""

from __future__ import annotations

import re
import unicodedata

# Letters of other scripts that look like Latin ones, after case folding.
SHAPES = str.maketrans(
    "аеорсухіјѕһԁмнткзвпαοντρκιυᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ",
    "aeopcyxijshdmhtkzbnaovtpkiuabcdefghijklmnoprstuvwyz",
)
UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
BLANKS = str.maketrans(dict.fromkeys("\u2800\U0001d159\xa0", " "))
# A quotation, an item of the scratchpad, a session: known as what they are.
LABELS = re.compile(r"[>›] |- \[[^\s\[\]]*\] |- \[ \] ")
KINDS = {
    "heading": r"#{1,6}(\s|$)|(=+|-{2,})$",
    "code": r"```|~~~|<!-",
    "fence": r"<<<|>>>|‹‹‹|›››",
    "rule": r"\W*(avoid|prefer|convention|rule)\W*[:\[]",
    "contested": r"\W*contested\W*[:\[]",
    "record": r"[-*+•]\s*\S+\s*\[\s*l[123]\b",
    "count": r"\W*(sessions\s+today|injection\s+mode|active\s+memory\s+records)\W*[:=]"
    r"|(…|\.\.\.)\s*\d+\s+more\b",
    "status": r"\W*(status|service|note)\W*[:=]|(…|\.\.\.)\s*(\d+\s+additional|memory\s+context)",
    "hit": r"\[\s*hit\b|(source|kind|provenance)\s*=|snippet\s*:",
}


def looks(line):
    """The line as it is seen: shapes of letters, no accents, nothing invisible, blanks as blanks."""
    seen = unicodedata.normalize("NFKD", UNSEEN.sub("", line).translate(BLANKS))
    letters = "".join(char for char in seen if unicodedata.category(char) not in ("Mn", "Me"))
    return letters.casefold().translate(SHAPES).strip()


def taken_for(line):
    """The kind of the block's, or the fence's, own lines that this one begins like; "" for none."""
    seen = looks(line)
    if LABELS.match(line):
        return ""
    return next((kind for kind, pattern in KINDS.items() if re.match(pattern, seen)), "")
