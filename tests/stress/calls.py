"""Random calls of all keys that a device registers."""

import numpy as np

from ep.include import DataType
from ep.include import primitive as p
from ep.include.primitive.registry import Entry
from tests.stress import (
    elementwise_calls,
    map_calls,
    movement_calls,
    product_calls,
    region_calls,
    softmax_calls,
    sum_calls,
    tree_calls,
)
from tests.stress.call import Call
from tests.stress.draw import pick

MAKERS = {
    **movement_calls.MAKERS,
    **elementwise_calls.MAKERS,
    **map_calls.MAKERS,
    **region_calls.MAKERS,
    **product_calls.MAKERS,
    **softmax_calls.MAKERS,
    **sum_calls.MAKERS,
    **tree_calls.MAKERS,
}
"""The functions that draw a call of each primitive."""


def random_call(rng: np.random.Generator, device, entry: Entry | None = None, most: int = 300_000) -> Call:
    """Return a call of `entry`, or of any key: each primitive is as likely as the others.

    most: approximately the largest number of elements.
    """
    if entry is None:
        entries = p.registered(device.type)
        interfaces = sorted({entry.interface for entry in entries}, key=lambda interface: interface.__name__)
        interface = pick(rng, interfaces)
        entry = pick(rng, [entry for entry in entries if entry.interface is interface])
    return MAKERS[entry.interface](rng, device, entry, min(most, 1000) if device.simulated else most)


def few_entries(device_type) -> list[Entry]:
    """Return one key of each primitive, for trials that compile; this does not load the package that provides the
    device.
    """
    from ep import BinaryOp, ReduceOp, UnaryOp

    single, index = DataType.kFloat, DataType.kInt64
    return [
        Entry(p.Gather, None, (single, index), device_type),
        Entry(p.BatchGather, None, (single, index), device_type),
        Entry(p.Expand, None, (single,), device_type),
        Entry(p.ElementwiseUnary, UnaryOp.kRelu, (single, single), device_type),
        Entry(p.BroadcastElementwiseBinary, BinaryOp.kSub, (single, single), device_type),
        Entry(p.BroadcastElementwiseUnary, UnaryOp.kNegative, (single, single), device_type),
        Entry(p.Cast, None, (single, index), device_type),
        Entry(p.Where, None, (DataType.kBool, single), device_type),
        Entry(p.Add, None, (single,), device_type),
        Entry(p.Fill, None, (single,), device_type),
        Entry(p.TensorFill, None, (single,), device_type),
        Entry(p.OneHot, None, (index, single), device_type),
        Entry(p.Permute, None, (single,), device_type),
        Entry(p.CopyNd, None, (single,), device_type),
        Entry(p.ConstantPad, None, (single,), device_type),
        Entry(p.Memcpy, p.MemcpyKind.kAuto, (), device_type),
        Entry(p.Memset, None, (), device_type),
        Entry(p.Matmul, None, (single,), device_type),
        Entry(p.BatchMatmul, None, (single,), device_type),
        Entry(p.BroadcastMatmul, None, (single,), device_type),
        Entry(p.Softmax, None, (single,), device_type),
        Entry(p.LogSoftmax, None, (single,), device_type),
        Entry(p.SoftmaxBackward, None, (single,), device_type),
        Entry(p.LogSoftmaxBackward, None, (single,), device_type),
        Entry(p.Reduce, ReduceOp.kSum, (single,), device_type),
        Entry(p.ArgSort, p.SortOrder.kAscending, (single,), device_type),
        Entry(p.Scan, p.ScanOp.kSum, (single,), device_type),
        Entry(p.UnsortedSegmentSum, None, (single, index), device_type),
        Entry(p.BatchUnsortedSegmentSum, None, (single, index), device_type),
        Entry(p.BatchScatter, p.ScatterOp.kAdd, (single, index), device_type),
        Entry(p.TreeEnsemble, p.TreeAggregate.kSum, (single,), device_type),
    ]
