"""BroadcastElementwiseBinary: kernels for each key and each pair of ways to read the operands."""

from __future__ import annotations

from functools import cache

from ep.cuda.access import Access, Variant
from ep.cuda.arithmetic import COMPUTE_BOUND
from ep.cuda.kernels.compiler import Kernel
from ep.cuda.kernels.functors import pack_functions, storage_type
from ep.cuda.kernels.numba_cuda import next_index, num_threads, thread_index
from ep.cuda.kernels.operand import operand
from ep.cuda.plan import num_walk_words
from ep.include.data_type import DataType
from ep.include.primitive.binary_op import BinaryOp


def kernel(op: BinaryOp, src_type: DataType, dst_type: DataType, variant: Variant) -> Kernel:
    """The kernel (src0, src0', src1, src1', dst, packs, count, attribute0, attribute1, words).

    dst[n] = op(src0[n], src1[n]) for n < count, the first `packs` packs of them whole (0 of ops in COMPUTE_BOUND). An
    operand has two words: its address and nothing, or the bytes of a number. words: those of the walk.
    """
    return _kernel(op, storage_type(op, src_type), storage_type(op, dst_type), variant)


@cache
def _kernel(op: BinaryOp, src_type: DataType, dst_type: DataType, variant: Variant) -> Kernel:
    elements, access0, access1, *of_walk = variant
    _, store, _, store_one, apply, apply_one, read_attributes = pack_functions(op, src_type, dst_type, elements)
    prepare0, pack0, element0 = operand(access0, src_type, elements, 0, *of_walk)
    prepare1, pack1, element1 = operand(access1, src_type, elements, 1, *of_walk)

    takes_packs = op not in COMPUTE_BOUND
    in_pairs = elements == 1 or Access.EACH not in (access0, access1)  # a pack of single loads is enough by itself

    def broadcast_elementwise_binary(  # type: ignore[no-untyped-def]
        src0, src0_more, src1, src1_more, dst, packs, count, attribute0, attribute1, words
    ):
        attributes = read_attributes(attribute0, attribute1)
        a, b = prepare0(src0, src0_more), prepare1(src1, src1_more)
        first, step = thread_index(), num_threads()
        if takes_packs:
            i = first
            while in_pairs and i + step < packs:  # the loads of two packs under way at a time
                j = i + step
                a0, b0, a1, b1 = pack0(a, i, words), pack1(b, i, words), pack0(a, j, words), pack1(b, j, words)
                store(dst, i, apply(a0, b0, attributes))
                store(dst, j, apply(a1, b1, attributes))
                i = next_index(i, 2 * step)
            while i < packs:
                store(dst, i, apply(pack0(a, i, words), pack1(b, i, words), attributes))
                i = next_index(i, step)
        i = packs * elements + first
        while i < count:
            store_one(dst, i, apply_one(element0(a, i, words), element1(b, i, words), attributes))
            i = next_index(i, step)

    name = f"{op.name}.{src_type.name}.{dst_type.name}.{elements}.{access0.name}.{access1.name}"
    num_packed = num_walk_words(variant.num_axes)
    return Kernel(
        f"broadcast_elementwise_binary.{name}.{variant.num_axes}.{variant.bits}",
        broadcast_elementwise_binary,
        9,
        num_packed,
    )
