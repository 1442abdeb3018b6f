"""The signatures of the primitives: their operands, as the contracts in `ep.include.primitive` describe them.

If a launch has dims, its sizes are the numbers of elements of the operands.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from ep.common.primitive.signature import Signature, reads, reads_bytes, writes, writes_bytes

ELEMENTWISE_UNARY: Final = Signature(
    (reads("src", 0, "count"), writes("dst", 1, "count", in_place=True)),
    sizes=("count",),
)
CAST: Final = ELEMENTWISE_UNARY
BROADCAST_ELEMENTWISE_UNARY: Final = Signature(
    (reads("src", 0, "src_count"), writes("dst", 1, "dst_count", in_place=True)),
    sizes=("src_count", "dst_count"),
)
BROADCAST_ELEMENTWISE_BINARY: Final = Signature(
    (reads("src0", 0, "src0_count"), reads("src1", 0, "src1_count"), writes("dst", 1, "dst_count", in_place=True)),
    sizes=("src0_count", "src1_count", "dst_count"),
)
EXPAND: Final = Signature(
    (reads("src", 0, "src_count"), writes("dst", 0, "dst_count", in_place=True)),
    sizes=("src_count", "dst_count"),
)
PERMUTE: Final = Signature(
    (reads("src", None, "count"), writes("dst", None, "count")),
    sizes=("count",),
)
COPY_ND: Final = Signature(
    (writes("dst", None, "dst_count"), reads("src", None, "src_count")),
    sizes=("dst_count", "src_count"),
    whole=False,
)
CONSTANT_PAD: Final = Signature(
    (reads("src", 0, "src_count"), writes("dst", 0, "dst_count")),
    sizes=("src_count", "dst_count"),
)
MEMCPY: Final = Signature(
    (writes_bytes("dst", "count", in_place=True), reads_bytes("src", "count")),
    sizes=("count",),
)
MEMSET: Final = Signature(
    (writes_bytes("dst", "count"),),
    sizes=("count",),
    others=("value",),
)
BATCH_GATHER: Final = Signature(
    (
        reads("params", 0, "batch_dim_size", "outer_dim_size", "gather_dim_size", "inner_dim_size"),
        reads("indices", 1, "batch_dim_size", "num_indices"),
        writes("out", 0, "batch_dim_size", "outer_dim_size", "num_indices", "inner_dim_size"),
    ),
    sizes=("batch_dim_size", "outer_dim_size", "gather_dim_size", "inner_dim_size", "num_indices"),
    others=("offset",),
)
"""Gather is a BatchGather of one batch."""
WHERE: Final = Signature(
    (
        reads("cond", 0, "cond_count"),
        reads("x", 1, "x_count"),
        reads("y", 1, "y_count"),
        writes("z", 1, "z_count", in_place=True),
    ),
    sizes=("cond_count", "x_count", "y_count", "z_count"),
)
FILL: Final = Signature((writes("dst", 0, "count"),), sizes=("count",))
"""Launch also receives a number: `ep.common.scalar.convert_value`."""
TENSOR_FILL: Final = Signature((reads("src", 0), writes("dst", 0, "count")), sizes=("count",))
ONE_HOT: Final = Signature(
    (reads("indices", 0, "num_indices"), writes("out", 1, "num_indices", "depth")),
    sizes=("num_indices", "depth"),
    others=("lower_bound",),
)
"""depth: upper_bound - lower_bound. Launch also receives two numbers."""
SOFTMAX: Final = Signature(
    (reads("x", 0, "rows", "cols"), writes("y", 0, "rows", "cols", in_place=True)),
    sizes=("rows", "cols"),
)
"""The signature of Softmax and LogSoftmax."""
SOFTMAX_BACKWARD: Final = Signature(
    (
        reads("y", 0, "rows", "cols"),
        reads("dy", 0, "rows", "cols"),
        writes("dx", 0, "rows", "cols", in_place=True),
    ),
    sizes=("rows", "cols"),
)
"""The signature of SoftmaxBackward and LogSoftmaxBackward."""
REDUCE: Final = Signature(
    (reads("src", 0, "src_count"), writes("dst", 1, "dst_count")),
    sizes=("src_count", "dst_count"),
)
"""The data types are New's, and the op's result type for it: `OpDefinition.result_type`."""
SCAN: Final = Signature(
    (
        reads("src", 0, "outer_dim_size", "scan_dim_size", "inner_dim_size"),
        writes("dst", 0, "outer_dim_size", "scan_dim_size", "inner_dim_size", in_place=True),
    ),
    sizes=("outer_dim_size", "scan_dim_size", "inner_dim_size"),
)
ARG_SORT: Final = Signature(
    (
        reads("x", 0, "outer_dim_size", "sort_dim_size", "inner_dim_size"),
        writes("places", 1, "outer_dim_size", "num_places", "inner_dim_size"),
    ),
    sizes=("outer_dim_size", "sort_dim_size", "inner_dim_size", "num_places"),
)
"""The data types are New's, and int64."""
TREE_ENSEMBLE: Final = Signature(
    (
        reads("x", 0, "num_rows", "num_features"),
        reads("nodes", 1, "num_words"),
        reads("roots", 1, "num_trees"),
        writes("out", 0, "num_rows", "num_targets"),
    ),
    sizes=("num_rows", "num_features", "num_targets", "num_words", "num_trees"),
)
"""The data types are New's, and int32."""
BATCH_UNSORTED_SEGMENT_SUM: Final = Signature(
    (
        reads("data", 0, "batch_dim_size", "outer_dim_size", "num_ids", "inner_dim_size"),
        reads("segment_ids", 1, "batch_dim_size", "num_ids"),
        writes("out", 0, "batch_dim_size", "outer_dim_size", "num_segments", "inner_dim_size"),
    ),
    sizes=("batch_dim_size", "outer_dim_size", "num_segments", "inner_dim_size", "num_ids"),
    others=("offset",),
)
"""UnsortedSegmentSum is a BatchUnsortedSegmentSum of one batch."""
BATCH_SCATTER: Final = Signature(
    (
        reads("updates", 0, "batch_dim_size", "outer_dim_size", "num_indices", "inner_dim_size"),
        reads("indices", 1, "batch_dim_size", "num_indices"),
        writes("out", 0, "batch_dim_size", "outer_dim_size", "scatter_dim_size", "inner_dim_size"),
    ),
    sizes=("batch_dim_size", "outer_dim_size", "scatter_dim_size", "inner_dim_size", "num_indices"),
    others=("offset",),
)
BATCH_MATMUL: Final = Signature(
    (
        reads("a", 0, "batch_size", "m", "k"),
        reads("b", 0, "batch_size", "k", "n"),
        writes("c", 0, "batch_size", "m", "n"),
    ),
    sizes=("batch_size", "m", "n", "k"),
)
"""Matmul is a BatchMatmul of one batch. Launch also receives two numbers, as does BroadcastMatmul's."""
BROADCAST_MATMUL: Final = Signature(
    (reads("a", 0, "a_count"), reads("b", 0, "b_count"), writes("c", 0, "c_count")),
    sizes=("a_count", "b_count", "c_count"),
)


@cache
def add(num_srcs: int) -> Signature:
    """Return the signature of Add for `num_srcs` srcs."""
    srcs = (reads(f"srcs[{number}]", 0, "count") for number in range(num_srcs))
    return Signature((*srcs, writes("dst", 0, "count", in_place=True)), sizes=("count",))
