"""An injector: all that `inject` takes, texts of the user's own, and the asynchronous form."""

from __future__ import annotations

import asyncio
import json
import threading
import time

import pytest

from pi_rank.errors import ContextError
from pi_rank.injection import Injector, OwnText
from tests.injection.memory import ListMemory, context, record
from tests.injection.shapes import assistant, texts, user

DEPLOY = record("mem_deploy", "Deploy with make release")


def converse(injector, prompts):
    messages, results = [], []
    for prompt in prompts:
        messages.append(user(prompt, "strands"))
        results.append(injector.inject(messages))
        messages.append(assistant("ok", "strands"))
    return messages, results


def test_texts_of_ones_own_are_sources_of_their_own_and_stand_before_the_memory():
    days = iter(["Monday", "Monday", "Tuesday"])
    injector = Injector(
        ListMemory([DEPLOY]),
        texts=[
            OwnText(source="agents", content="AGENTS.md: be brief."),
            OwnText(source="date", content=lambda: f"It is {next(days)}."),
        ],
    )
    messages, results = converse(injector, ["how to deploy?", "again deploy?", "and deploy now?"])
    assert [texts(message)[1:] for message in messages[::2]] == [
        [
            "\n\nAGENTS.md: be brief.",
            "\n\nIt is Monday.",
            "\n\n# Persistent Intelligence Context\n\n## Selected Memory\n"
            "- mem_deploy [L2, conf 0.90] Deploy with make release",
        ],
        [],
        ["\n\nIt is Tuesday.\n(replaces the earlier text of date)"],
    ]
    assert [(r.outcome, r.wrote) for r in results] == [
        ("written", True),
        ("nothing_new", False),
        ("nothing_new", True),
    ]


def test_an_injector_of_texts_alone():
    injector = Injector(None, texts=[OwnText(source="mode", content="plan")])
    messages, results = converse(injector, ["a", "b"])
    assert [r.wrote for r in results] == [True, False]
    assert texts(messages[0]) == ["a", "\n\nplan"]


def test_per_call_texts_are_all_in_what_is_sent():
    plan = OwnText(source="mode", content="plan")
    injector = Injector(ListMemory([DEPLOY]), mode="per_call", texts=[plan])
    messages = [user("deploy?", "strands")]
    result = injector.inject(messages)
    sent = json.dumps(result.outgoing)
    assert "plan" in sent and "make release" in sent
    assert messages == [user("deploy?", "strands")]


def test_options_of_inject_are_options_of_an_injector():
    secret = record("mem_key", "Deploy with the key " + "ghp_" + "a1B2" * 9)
    messages = [user("deploy?", "strands")]
    assert "GitHub" in Injector(ListMemory([secret]), secrets="refuse").inject(messages).reason
    assert "max_bytes=20" in Injector(ListMemory([DEPLOY]), max_bytes=20).inject(messages).reason
    assert messages == [user("deploy?", "strands")]
    rule = record("rule_x", "Never push to main", rule_type="avoid_pattern")

    class Rules(ListMemory):
        def build_retrieval_context(self, turn):
            return context(hard_rules=[rule])

    injector = Injector(Rules(), repeat_rules_after=100)
    _, results = converse(injector, ["word " * 200] * 3)
    assert [result.record_ids for result in results] == [("rule_x",)] * 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "sometimes"}, "mode='sometimes' is unknown"),
        (
            {"texts": [OwnText(source="a", content="x"), OwnText(source="a", content="y")]},
            "a name of its own",
        ),
        ({"texts": [OwnText(source="a", content="x", rendering="loud")]}, "rendering='loud' is unknown"),
    ],
)
def test_wrong_options_are_said_at_once(options, message):
    with pytest.raises(ContextError, match=message):
        Injector(ListMemory(), **options)


def test_recalled_memory_is_no_operators_text():
    text = OwnText(
        source="recalled", content=lambda: context([DEPLOY]), rendering="system", operator_text=True
    )
    result = Injector(None, texts=[text]).inject([user("deploy?", "strands")])
    assert "recalled memory is untrusted" in result.texts[0].reason


def test_conversations_of_one_event_loop_recall_at_the_same_time():
    together = threading.Barrier(4, timeout=60)  # nobody passes before four recalls are under way
    threads = set()

    class Meeting(ListMemory):
        def build_retrieval_context(self, turn):
            threads.add(threading.get_ident())
            together.wait()
            return super().build_retrieval_context(turn)

    async def turns():
        injector = Injector(Meeting([DEPLOY]))
        histories = [[user("deploy?", "strands")] for _ in range(4)]
        return await asyncio.gather(*(injector.ainject(messages) for messages in histories))

    assert all(result.wrote for result in asyncio.run(turns()))
    assert threading.get_ident() not in threads


def test_a_lookup_of_statuses_stops_no_other_conversation():
    asked, go_on = threading.Event(), threading.Event()

    class Waiting(ListMemory):
        def record_statuses(self, ids):
            asked.set()
            assert go_on.wait(60)
            return super().record_statuses(ids)

    messages, _ = converse(Injector(ListMemory([DEPLOY])), ["deploy?"])
    messages.append(user("again", "strands"))
    thread = threading.Thread(target=Injector(Waiting([DEPLOY])).inject, args=(messages,))
    thread.start()
    assert asked.wait(60)
    assert Injector(ListMemory([DEPLOY])).inject([user("deploy?", "strands")]).wrote
    go_on.set()
    thread.join()


def test_a_memory_whose_methods_are_asynchronous():
    class Awaitable(ListMemory):
        async def build_retrieval_context(self, turn):
            await asyncio.sleep(0)
            return ListMemory.build_retrieval_context(self, turn)

        async def record_statuses(self, ids):
            await asyncio.sleep(0)
            return ListMemory.record_statuses(self, ids)

    memory = Awaitable([DEPLOY])
    messages = [user("deploy?", "strands")]
    assert asyncio.run(Injector(memory).ainject(messages)).record_ids == ("mem_deploy",)
    memory.set("mem_deploy", status="deprecated")
    messages += [assistant("ok", "strands"), user("next", "strands")]
    assert asyncio.run(Injector(memory).ainject(messages)).withdrawn == ("mem_deploy",)
    with pytest.raises(ContextError, match="asynchronous: await `ainject`"):
        Injector(memory).inject([user("deploy?", "strands")])


def test_the_asynchronous_form_gives_what_the_other_gives():
    memory = ListMemory([DEPLOY])
    one, other = [user("deploy?", "strands")], [user("deploy?", "strands")]
    texts_ = [OwnText(source="mode", content="plan")]
    first = Injector(memory, texts=texts_).inject(one)
    second = asyncio.run(Injector(memory, texts=texts_).ainject(other))
    assert (first.text, first.record_ids) == (second.text, second.record_ids)
    assert texts(one[0]) == texts(other[0])


def test_two_that_write_to_one_conversation_at_once_write_one_block():
    class Slow(ListMemory):
        def build_retrieval_context(self, turn):
            time.sleep(0.02)
            return super().build_retrieval_context(turn)

    memory = Slow([DEPLOY])

    async def both(messages):
        return await asyncio.gather(*(Injector(memory).ainject(messages) for _ in range(5)))

    messages = [user("deploy?", "strands")]
    assert [r.outcome for r in asyncio.run(both(messages))].count("written") == 1
    assert len(texts(messages[0])) == 2
