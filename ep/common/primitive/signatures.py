"""The signatures of the primitives: their operands, as the contracts in `ep.include.primitive` describe them.

Where a launch takes dims, its sizes are the elements that each operand must have.
"""

from __future__ import annotations

from typing import Final

from ep.common.primitive.signature import Signature, reads, writes

ELEMENTWISE_UNARY: Final = Signature(
    (reads("src", 0, "count"), writes("dst", 1, "count", in_place=True)),
    sizes=("count",),
)
BROADCAST_ELEMENTWISE_BINARY: Final = Signature(
    (reads("src0", 0, "src0_count"), reads("src1", 0, "src1_count"), writes("dst", 1, "dst_count", in_place=True)),
    sizes=("src0_count", "src1_count", "dst_count"),
)
EXPAND: Final = Signature(
    (reads("src", 0, "src_count"), writes("dst", 0, "dst_count", in_place=True)),
    sizes=("src_count", "dst_count"),
)
BATCH_GATHER: Final = Signature(
    (
        reads("params", 0, "batch", "outer", "gather", "inner"),
        reads("indices", 1, "batch", "num_indices"),
        writes("out", 0, "batch", "outer", "num_indices", "inner"),
    ),
    sizes=("batch", "outer", "gather", "inner", "num_indices"),
    others=("offset",),
)
"""Gather is a BatchGather of one batch."""
