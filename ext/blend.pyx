# cython: freethreading_compatible=True
"""The default order of two sources' hits, from the postings and the vectors themselves.

    rows, scores, (ranks, lexical), (ranks, semantic), cosines, coverage = blend(
        segments, terms, live_rows, lexical_rows, table, query, hit_rows, hit_scores, tie_rank, constants
    )

One call, because the arrays have a few hundred rows: a call into numpy for each step takes longer than the
step. The steps are in kernels/blend.hpp.
"""

from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from arrays cimport Array, array_of, import_numpy
from pi_rank._core.bm25 cimport score_into
from pi_rank._core.vectors cimport Kernel, Table, VectorTable, best_kernel

import_numpy()


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
        vector[double] cosines
        vector[double] coverage

    Candidates merged(const int32_t* lexical, size_t n_lexical, const Hits& hits) except +
    Ranked ranked(const Candidates& found, const Hits& hits, const Table& table, const int32_t* row_node,
                  const float* query, const int32_t* tie_rank, const Rule& rule, const Kernel& kernel) except +


def blend(
    tuple segments, tuple terms, int64_t live_rows, lexical_rows, VectorTable table, query, hit_rows, hit_scores,
    tie_rank, constants,
):
    lexical = Array[int32_t](lexical_rows, "lexical_rows")
    asked = Array[float](query, "query")
    semantic = Array[int32_t](hit_rows, "hit_rows")
    cosines = Array[double](hit_scores, "hit_scores")
    ties = Array[int32_t](tie_rank, "tie_rank")
    row_node = Array[int32_t](table.row_node, "row_node")
    cdef Hits hits
    cdef Rule rule
    cdef Candidates found
    cdef Ranked best
    hits.rows, hits.cosines, hits.count = semantic.data(), cosines.data(), semantic.size()
    rule.words, rule.coverage, background, rule.centre, rule.centre_hits = constants[:5]
    rule.background_begin, rule.background_end = background
    rule.feedback, rule.feedback_rows = constants[5:]
    if hits.count == 0 or cosines.size() != semantic.size() or not (rule.centre_hits and rule.feedback_rows):
        raise ValueError("a blend needs semantic hits, a score of each, and a row at least for each mean")
    if asked.size() != <Py_ssize_t>table.table.dimension or ties.size() != row_node.size():
        raise ValueError(
            f"query and tie_rank have {asked.size()} and {ties.size()} entries; "
            f"the index has dimension {table.table.dimension} and {row_node.size()} rows"
        )
    if not (_are_rows(lexical, row_node, -1) and _are_rows(semantic, row_node, 0)):
        raise ValueError(f"hits must be rows from 0 to {row_node.size() - 1}, semantic ones with a vector")
    found = merged(lexical.data(), lexical.size(), hits)
    score_into(
        segments, terms, live_rows, found.rows.data(), found.rows.size(), found.bm25.data(), found.coverage.data()
    )
    with nogil:
        best = ranked(found, hits, table.table, row_node.data(), asked.data(), ties.data(), rule, best_kernel()[0])
    return (
        array_of(best.rows), array_of(best.scores),
        (array_of(best.lexical_rank), array_of(best.lexical)),
        (array_of(best.semantic_rank), array_of(best.semantic)),
        array_of(best.cosines), array_of(best.coverage),
    )


cdef bint _are_rows(const Array[int32_t]& rows, const Array[int32_t]& row_node, int32_t least_node) noexcept:
    cdef Py_ssize_t i
    for i in range(rows.size()):
        if rows[i] < 0 or rows[i] >= row_node.size() or row_node[rows[i]] < least_node:
            return False
    return True
