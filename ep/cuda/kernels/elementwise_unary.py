"""ElementwiseUnary: a kernel for each key."""

from __future__ import annotations

from functools import cache

from ep.cuda.arithmetic import COMPUTE_BOUND
from ep.cuda.kernels.compiler import Kernel
from ep.cuda.kernels.functors import pack_functions, storage_type
from ep.cuda.kernels.numba_cuda import next_index, num_threads, thread_index
from ep.cuda.launch_config import pack_elements
from ep.include.data_type import DataType
from ep.include.primitive.unary_op import UnaryOp


def kernel(op: UnaryOp, src_type: DataType, dst_type: DataType) -> Kernel:
    """The kernel (src, dst, packs, count, attribute0, attribute1): dst[i] = op(src[i]) for i < count.

    packs: how many packs to take whole; 0 where src or dst is not aligned to them, and of ops in COMPUTE_BOUND.
    """
    return _kernel(op, storage_type(op, src_type), storage_type(op, dst_type))


@cache
def _kernel(op: UnaryOp, src_type: DataType, dst_type: DataType) -> Kernel:
    elements = pack_elements(src_type, dst_type)
    load, store, load_one, store_one, apply, apply_one, read_attributes = pack_functions(
        op, src_type, dst_type, elements
    )
    takes_packs = op not in COMPUTE_BOUND

    def elementwise_unary(src, dst, packs, count, attribute0, attribute1):  # type: ignore[no-untyped-def]
        attributes = read_attributes(attribute0, attribute1)
        first, step = thread_index(), num_threads()
        if takes_packs:
            i = first
            while i + step < packs:  # two loads under way at a time
                a, b = load(src, i), load(src, i + step)
                store(dst, i, apply(a, attributes))
                store(dst, i + step, apply(b, attributes))
                i = next_index(i, 2 * step)
            if i < packs:
                store(dst, i, apply(load(src, i), attributes))
        i = packs * elements + first
        while i < count:
            store_one(dst, i, apply_one(load_one(src, i), attributes))
            i = next_index(i, step)

    return Kernel(f"elementwise_unary.{op.name}.{src_type.name}.{dst_type.name}", elementwise_unary, 6)
