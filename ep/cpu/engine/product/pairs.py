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

from ep.common.native.emitted import emitted
from ep.cpu.compile.jit import jit
from ep.cpu.compile.target import has_avx2, multiplies_pairs
from ep.cpu.compile.vectors import WORD, constant, counted, counted_whole, lanes_below, load, smallest, stored_bits
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
    def multiply(launch: ProductLaunch, block: ProductBlock, a, b, c):
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
    vector = stored_bits(DataType.kBFloat16, _LANES)

    @emitted("int64")
    def least(builder: Any, src: Any, step: Any, rows: Any, count: Any) -> Any:
        src = builder.inttoptr(src, vector.element.as_pointer())
        adjacent = builder.icmp_signed("==", step, count)
        count = builder.select(adjacent, builder.mul(rows, count), count)
        rows = builder.select(adjacent, WORD(1), rows)
        rest = lanes_below(builder, builder.and_(count, WORD(_LANES - 1)), _LANES)

        def smaller(source: Any, index: Any, found: list[Any], mask: Any = None) -> list[Any]:
            bits = load(builder, source, vector, index, mask)
            below = builder.sub(builder.add(bits, bits), constant(vector, 1))  # a zero becomes the largest number
            return [builder.select(builder.icmp_unsigned("<", below, found[0]), below, found[0])]

        def several(source: Any, place: Any, found: list[Any]) -> list[Any]:
            each = range(0, _TOGETHER * _LANES, _LANES)
            return [
                one
                for skip, before in zip(each, found, strict=True)
                for one in smaller(source, builder.add(place, WORD(skip)), [before])
            ]

        def row(index: Any, found: list[Any]) -> list[Any]:
            source = builder.gep(src, [builder.mul(index, step)])
            left, found = counted_whole(
                builder, WORD(0), count, _TOGETHER * _LANES, found, lambda place, found: several(source, place, found)
            )
            left, found[:1] = counted_whole(
                builder, left, count, _LANES, found[:1], lambda place, found: smaller(source, place, found)
            )
            return [*smaller(source, left, found[:1], rest), *found[1:]]

        _, found = counted(builder, WORD(0), rows, 1, [constant(vector, -1)] * _TOGETHER, row)
        for one in found[1:]:
            found[0] = builder.select(builder.icmp_unsigned("<", one, found[0]), one, found[0])
        return builder.add(builder.zext(smallest(builder, found[0]), WORD), WORD(1))

    return least
