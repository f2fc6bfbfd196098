"""English function words: the words that carry a sentence's grammar and not its subject."""

from __future__ import annotations

# Why a list at all: nearly every statement and every prompt holds these words. Left in a phrase, "when
# working on the billing service" would miss "working on our billing service"; left in a query, they dilute
# BM25 with matches on grammar (LoCoMo recall@10 falls from .601 to .554).
#
# What is deliberately absent:
# - negations and their kin (no, not, nor, never, without, except, unless): with them dropped, "without tests"
#   would mean "tests";
# - words that order or direct (before, after, until, up, down, off, out, over, under): "before release" is
#   not "after release", and "scale up" is not "scale down";
# - "only", which technical writing uses as half of a term ("read only");
# - the tails of contractions (s, t, ll, ...): as tokens they are one-letter names too.
_ARTICLES_AND_DETERMINERS = "a an the this that these those some any each every all both either such"
_PRONOUNS = (
    "i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself "
    "she her hers herself it its itself they them their theirs themselves"
)
_BE_HAVE_DO_AND_MODALS = (
    "am is are was were be been being have has had having do does did doing "
    "can could will would shall should may might must"
)
_PREPOSITIONS = (
    "about as at by during for from in into of on onto through to toward towards upon via with within"
)
_CONJUNCTIONS = "and but or so because if than though although when whenever while whereas whether"
_QUESTION_WORDS = "how what where which who whom whose why"
_ADVERBS = "also here just then there too very"

FUNCTION_WORDS: frozenset[str] = frozenset(
    " ".join(
        (
            _ARTICLES_AND_DETERMINERS,
            _PRONOUNS,
            _BE_HAVE_DO_AND_MODALS,
            _PREPOSITIONS,
            _CONJUNCTIONS,
            _QUESTION_WORDS,
            _ADVERBS,
        )
    ).split()
)

# Words of a conversation that point at what was said, or ask for more of it: a prompt of these and function
# words alone ("and then?", "explain that again") has no subject of its own that memory could know about.
FOLLOW_UP_WORDS: frozenset[str] = frozenset(
    " ".join(
        (
            "again more other others another else one ones same thing things something anything everything",
            "next last previous before tell say said show explain elaborate mean means meant continue keep",
            "go going try yes no not please ok okay well now still really sure right thanks so like way far",
            "let know think see isn don didn doesn s t d m ll re ve",
        )
    ).split()
)
