"""mpiexec -n 4 python -m examples.embedding_on_ranks: a table of embeddings that is split over the ranks.

Its rows are split over the ranks, and all ranks have the indices. Each rank gathers the rows that it has, with zeros
for the others; the sums over the ranks are the gathered rows.
"""

from __future__ import annotations

import numpy as np

from ep import ops
from ep.mesh import Placement, from_whole, reporting, to_global
from ep.mesh.world import world
from ep.sbp import piece_sizes

WORDS, SIZE, TOKENS = 50_257, 768, 1024


def main() -> None:
    """Gather, reduce, and compare with the whole table on every rank."""
    ranks = Placement(world().size)
    rows = piece_sizes(WORDS, ranks.ranks)[ranks.rank]
    table = to_global(np.random.default_rng(ranks.rank).random((rows, SIZE), np.float32), ranks, "S(0)")
    tokens = np.random.default_rng(0).integers(0, WORDS, TOKENS)
    with reporting() as report:
        found = ops.gather(table, from_whole(tokens, ranks, "B")).to("B")
    counted = sum(world().from_all(lambda: report.sent, "the bytes that each sent"))
    assert np.array_equal(found.to_local(), table.numpy()[tokens])
    if ranks.rank == 0:
        for event in report.events:
            print(event)
        print(f"equal to the whole; {report.bytes:,} bytes by the cost model, {counted:,} handed to MPI")


if __name__ == "__main__":
    main()
