# cython: freethreading_compatible=True
"""How likely each row of a ranking belongs to its query: the logistic of pi_rank/turn/relevance.py, row by row.

    likely, kept, best = relevance(cosines, coverage, wanted, words, read, intercept, evidence, share, least)

One call, because the arrays have a few hundred rows: a call into numpy for each step takes longer than the step.
"""

from libc.math cimport exp, log
from libc.stdint cimport int64_t
from libcpp.vector cimport vector

from arrays cimport Array, array_of, import_numpy

import_numpy()

cdef double LEAST = 0.02  # evidence below this, and below 0, is none
cdef double WANTED = 0.5  # a phrase of `applies_when`: as much as all words of a query can give


def relevance(
    cosines, coverage, wanted, double words, double read, double intercept, double evidence, double best, double least
):
    near = Array[double](cosines, "cosines")
    share = Array[double](coverage, "coverage")
    applies = Array[double](coverage if wanted is None else wanted, "wanted")
    cdef double of_phrases = 0.0 if wanted is None else WANTED
    cdef Py_ssize_t i, count = near.size()
    if share.size() != count or applies.size() != count:
        raise ValueError(f"{count} cosines, but {share.size()} shares of the words and {applies.size()} of phrases")
    cdef vector[double] speaks, likely
    cdef vector[int64_t] kept
    cdef double top = 0.0, most = 0.0, enough, found
    with nogil:
        for i in range(count):
            found = read * near[i] + words * share[i]
            speaks.push_back((found if found > LEAST else LEAST) + of_phrases * applies[i])
            if speaks[i] > top:
                top = speaks[i]
        top = log(top)
        enough = _enough(top, intercept, evidence, best, least)
        for i in range(count):
            if speaks[i] < enough:
                continue
            found = _likely(log(speaks[i]), top, intercept, evidence, best)
            if found >= least:
                likely.push_back(found)
                kept.push_back(i)
        if count:
            most = _likely(top, top, intercept, evidence, best)
    return array_of(likely), array_of(kept), most


cdef double _likely(double own, double top, double intercept, double evidence, double best) noexcept nogil:
    return 1.0 / (1.0 + exp(-(intercept + evidence * own + best * (own - top))))


cdef double _enough(double top, double intercept, double evidence, double best, double least) noexcept nogil:
    """Evidence below this is not enough for `least`, rounding aside: most rows need no logarithm. 0 where less
    evidence may be more.
    """
    if evidence + best <= 0 or least <= 0 or least >= 1:
        return 0.0
    return 0.999 * exp((log(least / (1 - least)) - intercept + best * top) / (evidence + best))
