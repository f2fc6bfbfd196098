# cython: freethreading_compatible=True
"""The default order of two sources' hits, from the postings and the vectors themselves.

    rows, scores, (ranks, lexical), (ranks, semantic), relevance = blend(
        segments, terms, live_rows, lexical_rows, table, query, hit_rows, hit_scores, tie_rank, constants
    )

One call, because the arrays have a few hundred rows: a call into numpy for each step takes longer than the
step. The steps are in kernels/blend.hpp.
"""

cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from arrays cimport double_array, int_array
from pi_rank._core.bm25 cimport score_into
from pi_rank._core.vectors cimport Table, VectorTable

cnp.import_array()


cdef extern from "kernels/blend.hpp" namespace "pi_blend" nogil:
    cdef cppclass Rule:
        double words
        double coverage
        size_t background_begin
        size_t background_end
        double centre
        size_t centre_hits
        double feedback
        size_t feedback_rows

    cdef cppclass Hits:
        const int32_t* rows
        const double* cosines
        size_t count

    cdef cppclass Candidates:
        vector[int32_t] rows
        vector[double] bm25
        vector[double] coverage

    cdef cppclass Ranked:
        vector[int32_t] rows
        vector[int32_t] lexical_rank
        vector[int32_t] semantic_rank
        vector[double] scores
        vector[double] lexical
        vector[double] semantic
        double relevance

    Candidates merged(const int32_t* lexical, size_t n_lexical, const Hits& hits) except +
    Ranked ranked(const Candidates& found, const Hits& hits, const Table& table, const int32_t* row_node,
                  const float* query, const int32_t* tie_rank, const Rule& rule) except +


def blend(
    tuple segments, tuple terms, int64_t live_rows, const int32_t[::1] lexical_rows,
    VectorTable table, const float[::1] query, const int32_t[::1] hit_rows, const double[::1] hit_scores,
    const int32_t[::1] tie_rank, constants,
):
    cdef const int32_t[::1] row_node = table.row_node
    cdef Hits hits
    cdef Rule rule
    cdef Candidates found
    cdef Ranked best
    hits.rows, hits.cosines, hits.count = &hit_rows[0], &hit_scores[0], hit_rows.shape[0]
    rule.words, rule.coverage, background, rule.centre, rule.centre_hits = constants[:5]
    rule.background_begin, rule.background_end = background
    rule.feedback, rule.feedback_rows = constants[5:]
    if hits.count == 0 or hit_scores.shape[0] != hit_rows.shape[0] or not (rule.centre_hits and rule.feedback_rows):
        raise ValueError("a blend needs semantic hits, a score of each, and a row at least for each mean")
    if query.shape[0] != <Py_ssize_t>table.table.dimension or tie_rank.shape[0] != row_node.shape[0]:
        raise ValueError(
            f"query and tie_rank have {query.shape[0]} and {tie_rank.shape[0]} entries; "
            f"the index has dimension {table.table.dimension} and {row_node.shape[0]} rows"
        )
    if not (_are_rows(lexical_rows, row_node, -1) and _are_rows(hit_rows, row_node, 0)):
        raise ValueError(f"hits must be rows from 0 to {row_node.shape[0] - 1}, semantic ones with a vector")
    found = merged(&lexical_rows[0], lexical_rows.shape[0], hits)
    score_into(
        segments, terms, live_rows, found.rows.data(), found.rows.size(), found.bm25.data(), found.coverage.data()
    )
    with nogil:
        best = ranked(found, hits, table.table, &row_node[0], &query[0], &tie_rank[0], rule)
    return (
        int_array(best.rows), double_array(best.scores),
        (int_array(best.lexical_rank), double_array(best.lexical)),
        (int_array(best.semantic_rank), double_array(best.semantic)),
        best.relevance,
    )


cdef bint _are_rows(const int32_t[::1] rows, const int32_t[::1] row_node, int32_t least_node) noexcept:
    cdef Py_ssize_t i
    for i in range(rows.shape[0]):
        if rows[i] < 0 or rows[i] >= row_node.shape[0] or row_node[rows[i]] < least_node:
            return False
    return True
