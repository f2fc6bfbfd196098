"""The compiled core, routine by routine, with bytes drawn at random and changed a little."""

from __future__ import annotations

from tests.campaign.core.feed import Feed
from tests.campaign.core.targets import TARGETS
from tests.campaign.corpus import as_bytes, as_text
from tests.campaign.door import Door
from tests.campaign.values import damage


class Core(Door):
    """A case is a routine and a hundred feeds: the first at random, each other one a change of one before."""

    def make(self, chance):
        feeds = [chance.randbytes(chance.choice([4, 30, 200, 800]))]
        while len(feeds) < 100:
            some = chance.choice(feeds)
            feeds.append(damage(chance, some) if chance.random() < 0.7 else chance.randbytes(len(some) + 9))
        return {"routine": chance.choice(sorted(TARGETS)), "feeds": [as_text(feed[:2_000]) for feed in feeds]}

    def run(self, case, trial):
        target = TARGETS.get(case.get("routine"))
        for feed in case.get("feeds", []) if target else []:
            trial.inputs += 1
            with trial.expecting(f"core {case['routine']}"):
                target(Feed(as_bytes(str(feed))))
        trial.tallies[str(case.get("routine"))] += len(case.get("feeds", []))
