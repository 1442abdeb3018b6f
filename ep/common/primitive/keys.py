"""The keys that every device of this package registers: from the table of ops, and the data types."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Final

from ep.include.data_type import DataType
from ep.include.number_kind import ALL, BOOL, CHAR, COMPLEXES, FLOATS, INTEGERS, REAL
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.memcpy import MemcpyKind
from ep.include.primitive.op_table import OPS, REDUCTIONS
from ep.include.primitive.primitive import Key
from ep.include.primitive.scan_op import ScanOp
from ep.include.primitive.scatter_op import COMBINED_BY, ScatterOp
from ep.include.primitive.sort_order import SortOrder
from ep.include.primitive.tree_aggregate import TreeAggregate
from ep.include.primitive.unary_op import UnaryOp

GATHER: Final = frozenset(Key(None, pair) for pair in product(ALL, INTEGERS))
BATCH_GATHER: Final = GATHER
_OF_ALL: Final = frozenset(Key(None, (data_type,)) for data_type in ALL)
EXPAND: Final = _OF_ALL
PERMUTE: Final = _OF_ALL
COPY_ND: Final = _OF_ALL
CONSTANT_PAD: Final = _OF_ALL
MEMCPY: Final = frozenset(Key(kind, ()) for kind in MemcpyKind)
MEMSET: Final = frozenset([Key(None, ())])
ADD: Final = _OF_ALL
FILL: Final = _OF_ALL
TENSOR_FILL: Final = _OF_ALL
ONE_HOT: Final = frozenset(Key(None, pair) for pair in product(INTEGERS, ALL))
SOFTMAX: Final = frozenset(Key(None, (data_type,)) for data_type in FLOATS)
LOG_SOFTMAX: Final = SOFTMAX
SOFTMAX_BACKWARD: Final = SOFTMAX
LOG_SOFTMAX_BACKWARD: Final = SOFTMAX
REDUCE: Final = frozenset(Key(op, (data_type,)) for op, row in REDUCTIONS.items() for data_type in row.takes)
SCAN: Final = frozenset(
    Key(op, (data_type,)) for op, data_type in product(ScanOp, CHAR + INTEGERS + FLOATS + COMPLEXES)
)
ARG_SORT: Final = frozenset(Key(order, (data_type,)) for order, data_type in product(SortOrder, REAL))
TREE_ENSEMBLE: Final = frozenset(
    Key(op, (data_type,)) for op, data_type in product(TreeAggregate, (DataType.kFloat, DataType.kDouble))
)
UNSORTED_SEGMENT_SUM: Final = frozenset(Key(None, pair) for pair in product(INTEGERS + FLOATS + COMPLEXES, INTEGERS))
BATCH_UNSORTED_SEGMENT_SUM: Final = UNSORTED_SEGMENT_SUM
BATCH_SCATTER: Final = frozenset(
    Key(op, pair)
    for op in ScatterOp
    for pair in product(OPS[COMBINED_BY[op]].takes if op in COMBINED_BY else ALL, INTEGERS)
)
WHERE: Final = frozenset(Key(None, pair) for pair in product(BOOL + CHAR + INTEGERS, ALL))


def _of_ops(ops: Iterable[UnaryOp | BinaryOp]) -> frozenset[Key]:
    """Return the keys (op, source type, result type) of elementwise ops."""
    rows = {op: OPS[op] for op in ops}
    return frozenset(
        Key(op, (source, result))
        for op, row in rows.items()
        for source in row.takes
        for result in row.result_types(source)
    )


ELEMENTWISE_UNARY: Final = _of_ops(op for op in UnaryOp if op is not UnaryOp.kCast)  # kCast is a primitive of its own
_CASTS: Final = _of_ops([UnaryOp.kCast])
BROADCAST_ELEMENTWISE_UNARY: Final = ELEMENTWISE_UNARY | _CASTS
BROADCAST_ELEMENTWISE_BINARY: Final = _of_ops(BinaryOp)
CAST: Final = frozenset(Key(None, key.dtypes) for key in _CASTS)
MATMUL: Final = frozenset(Key(None, (data_type,)) for data_type in INTEGERS + FLOATS + COMPLEXES)
"""The keys of Matmul, BatchMatmul and BroadcastMatmul."""
