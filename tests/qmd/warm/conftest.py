"""Commands in one long-lived process, as the daemon and the MCP server run them."""

from __future__ import annotations

import json

import pytest

from pi_rank.qmd.arguments import parse
from pi_rank.qmd.command import dispatch
from pi_rank.qmd.commands.call import Call
from pi_rank.qmd.commands.embedding_run import embed
from pi_rank.qmd.config import load
from pi_rank.qmd.paths import places
from pi_rank.qmd.warm.warm import Warm


class Hosted:
    """Runs commands in one long-lived process, as the daemon does."""

    def __init__(self, world, warm):
        self.world, self.warm = world, warm

    def run(self, *argv):
        """(stdout, stderr) of a command that must succeed."""
        out: list[str] = []
        err: list[str] = []
        world = self.world
        call = Call(
            parse(argv),
            places(world.environment),
            world.environment,
            str(world.home),
            out.append,
            err.append,
            self.warm,
        )
        assert dispatch(call) == 0, err
        return "".join(out), "".join(err)

    def json(self, *argv):
        return json.loads(self.run(*argv)[0])


@pytest.fixture
def hosted(world):
    with Warm.opened(places(world.environment)) as warm:
        yield Hosted(world, warm)


def embed_all(world):
    call = Call(
        parse(["embed"]), places(world.environment), world.environment, "/", lambda _: None, lambda _: None
    )
    return embed(call, list(load(call.places.config).collections.values()), None)
