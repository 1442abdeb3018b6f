"""Products by pairs, with instructions that add two products to a sum.

Integers of 8 and 16 bits are multiplied as halves of 32 bits, in which they are summed: modulo their range, a half may
as well be signed.

Products of bfloat16 are added to a sum of float32. The instructions round after each product, in order, as fused
multiply-adds do: the sums have the same bits. But they take numbers below the least normal one for 0. So the elements
of a block are read first: if a product or a sum could be so small, the block is computed in float32.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.common.functor.math_library import Scalar
from ep.common.loops import unrolled
from ep.common.native.fields import AnyPointer
from ep.cpu.compile.jit import inlined, jit
from ep.cpu.compile.target import has_avx2, multiplies_pairs
from ep.cpu.compile.vector import Mask, all_lanes, elements, lanes_below, load, select, smallest, vector
from ep.cpu.engine.product.shape import tile_shape
from ep.cpu.engine.product.state import ProductBlock, ProductLaunch
from ep.cpu.engine.product.tiling import block_multiplier
from ep.cpu.engine.product.types import Types, alike, is_narrow
from ep.cpu.engine.product.walk import offsets
from ep.include.data_type import DataType
from ep.include.number_kind import INTEGERS

_LANES: Final = 32
_TOGETHER: Final = 4  # vectors that are read in a turn of a loop
_EXPONENT: Final = 8  # the bits below the exponent in a magnitude
_LEAST_SUM: Final = 142
"""The least sum of two biased exponents, 127 each, for which products are multiples of the least normal number 2^-126:
each factor is a multiple of 2^-7 of its power of two. Sums of such products are multiples of it, too, however rounded.
"""


def is_paired(types: Types) -> bool:
    """Return whether blocks may be multiplied by pairs."""
    return is_always_paired(types) or (types == alike(DataType.kBFloat16) and multiplies_pairs())


def is_always_paired(types: Types) -> bool:
    """Return whether blocks are multiplied by pairs whatever their numbers are."""
    return types.c in INTEGERS and is_narrow(types.c) and has_avx2()


def pair_multiplier(types: Types) -> Any:
    """Return `block_multiplier`'s function, or one that also multiplies by pairs, if the processor has them."""
    if is_always_paired(types):
        return block_multiplier(types, paired=True)
    alone = block_multiplier(types)
    if not is_paired(types):
        return alone
    in_pairs, size, few_rows = block_multiplier(types, paired=True), types.a.itemsize, tile_shape().rows // 2
    least = _least_magnitude()

    @jit
    def multiply(launch: ProductLaunch, block: ProductBlock, a: int, b: int, c: int) -> None:
        state, words = launch.state, launch.product
        m, n, k = words.m, words.n, words.k
        rows, columns = block.rows, block.columns
        row, column, term = (
            block.first_row,
            block.first_column,
            block.first_term,
        )
        first, depth = block.first, block.last - block.first
        if block.last_term - term == 1 and rows > few_rows:
            a_offset, b_offset = offsets(words.terms, term)
            if state.transpose_a:
                of_a = least(a + (a_offset + first * m + row) * size, m, depth, rows)
            else:
                of_a = least(a + (a_offset + row * k + first) * size, k, rows, depth)
            if state.transpose_b:
                of_b = least(b + (b_offset + column * k + first) * size, k, columns, depth)
            else:
                of_b = least(b + (b_offset + first * n + column) * size, n, depth, columns)
            of_a, of_b = of_a >> _EXPONENT, of_b >> _EXPONENT
            if min(of_a, of_b) > 0 and of_a + of_b >= _LEAST_SUM:
                in_pairs(launch, block, a, b, c)
                return
        alone(launch, block, a, b, c)

    return multiply


@cache
def _least_magnitude() -> Any:
    """Return a function (src, step, rows, count) that returns the least magnitude of elements of bfloat16 but zeros.

    The elements are in rows of `count`, with `step` elements from row to row. A magnitude is the bits without the sign,
    times 2; without any element but zeros, it is larger than all others. Rows without gaps are read as one.
    """
    Bits, Elements = vector(DataType.kUInt16, _LANES), elements(DataType.kUInt16)

    @inlined
    def look_at(source: int, index: int, used: Mask, found: AnyPointer) -> None:
        bits = load(Bits, source, index, used)
        below = bits + bits - 1  # a zero becomes the largest number
        found[0] = select(below < found[0], below, found[0])

    @inlined
    def least(src: int, step: int, rows: int, count: int) -> Scalar:
        if step == count:
            rows, count = 1, rows * count
        found, rest = Bits.array_on_stack(_TOGETHER), lanes_below(count & (_LANES - 1), _LANES)
        for number in unrolled(range(_TOGETHER)):
            found[number] = Bits.splat(-1)
        for row in range(rows):
            source, index = Elements.at(src)[row * step :], 0
            while index < count - (_TOGETHER * _LANES - 1):
                for number in unrolled(range(_TOGETHER)):
                    look_at(source, index + number * _LANES, all_lanes(_LANES), found[number:])
                index += _TOGETHER * _LANES
            while index < count - (_LANES - 1):
                look_at(source, index, all_lanes(_LANES), found)
                index += _LANES
            look_at(source, index, rest, found)
        for number in unrolled(range(1, _TOGETHER)):
            found[0] = select(found[number] < found[0], found[number], found[0])
        return 1 + smallest(found[0])

    return least
