import numpy as np
from numpy.typing import NDArray

from pi_rank._core.vectors import VectorTable

class LinkGraph:
    """The arrays of `pi_rank.ranking.graphs.graph.Links`, ready to be searched."""

    def __init__(
        self,
        ground: NDArray[np.int32],
        upper: NDArray[np.int32],
        upper_begin: NDArray[np.int32],
        top: NDArray[np.int32],
    ) -> None:
        """
        :raises ValueError: arrays of other shapes, or a link to a node that does not exist.
        """

    def nearest(self, table: VectorTable, query: NDArray[np.float32], n: int) -> NDArray[np.int32]:
        """About the n nearest nodes, nearest first by their int8 codes.

        :raises VectorError: another dtype or dimension, a query not finite, too small a table, n < 0.
        """

    def search(
        self,
        table: VectorTable,
        queries: NDArray[np.float32],
        k: int,
        fetched: list[int],
        first: NDArray[np.int64],
        rows: NDArray[np.int32],
        tie_rank: NDArray[np.int32],
        eligible: list[NDArray[np.uint8] | None],
    ) -> list[tuple[NDArray[np.int32], NDArray[np.float64]]]:
        """For each query the k best rows, of about the `fetched` nearest nodes and the nodes unknown here.

        :param first, rows: `pi_rank.ranking.graphs.node_rows.NodeRows`.
        :raises VectorError: as `nearest`; arrays of other types, or that are not the table's.
        """
