"""Products of a matrix and a vector: each element of the matrix is used once, so that all depends on how it is read.

Where elements that are summed up lie side by side, several rows are gone along at once; where they lie below each
other, sums of adjacent columns stay in registers. 16-bit types are widened as they are read.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ep.cpu.compile.conversion import HALVES, widened
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import allocate, load_word, loader, release, storer
from ep.cpu.engine.context import CONTEXT, SOURCE_WORDS
from ep.cpu.engine.product.instructions import REALS, WORD, add_product, function, loop, spread
from ep.cpu.engine.product.state import PRODUCT, PRODUCT_STATE
from ep.include.data_type import DataType

_A, _B, _ALPHA, _BETA = (CONTEXT.sources + SOURCE_WORDS * number for number in range(4))
_ROWS: Final = 4  # that are gone along at once
_WIDTH_BYTES: Final = 64  # of the numbers that are added up side by side
_COLUMNS_BYTES: Final = 256  # of the sums that stay in registers


@cache
def vector_multiplier(data_type: DataType) -> Any:
    """A function (context, words, a, b, c, first_row, first_column, rows, columns) for one row or one column of c."""
    arithmetic = DataType.kFloat if data_type in HALVES else data_type
    size, is_half, wide = data_type.itemsize, data_type in HALVES, arithmetic.itemsize
    load, store, store_wide = loader(data_type), storer(data_type), storer(arithmetic)
    load_wide, block = loader(arithmetic), _COLUMNS_BYTES // wide
    dots, dot = (_dots(data_type, arithmetic, rows) for rows in (_ROWS, 1))
    sums, few_sums, one_sum = (_sums(data_type, arithmetic, count) for count in (block, block // 4, 1))

    @jit
    def multiply(context, words, a, b, c, first_row, first_column, rows, columns):
        state, k = load_word(context, CONTEXT.state), load_word(words, PRODUCT.k)
        is_row = load_word(words, PRODUCT.m) == 1
        vector, matrix = (a, b) if is_row else (b, a)
        first, count = (first_column, columns) if is_row else (first_row, rows)
        transposed = load_word(state, PRODUCT_STATE.transpose_b if is_row else PRODUCT_STATE.transpose_a) != 0
        ld = load_word(words, PRODUCT.n if is_row else PRODUCT.m)
        copy = 0
        if is_half:
            copy = allocate(wide * k)
            for place in range(k):
                store_wide(copy, place, load(vector, place))
            vector = copy
        results = allocate(wide * count)
        place = 0
        if transposed == is_row:  # what is summed up lies side by side
            while count - place >= _ROWS:
                dots(matrix + (first + place) * k * size, k, vector, results + place * wide)
                place += _ROWS
            while place < count:
                dot(matrix + (first + place) * k * size, k, vector, results + place * wide)
                place += 1
        else:
            while count - place >= block:
                sums(matrix + (first + place) * size, k, ld, vector, results + place * wide)
                place += block
            while count - place >= block // 4:
                few_sums(matrix + (first + place) * size, k, ld, vector, results + place * wide)
                place += block // 4
            while place < count:
                one_sum(matrix + (first + place) * size, k, ld, vector, results + place * wide)
                place += 1
        alpha, beta = load(load_word(context, _ALPHA), 0), load(load_word(context, _BETA), 0)
        if beta == 0:
            for place in range(count):
                store(c, place, alpha * load_wide(results, place))
        else:
            for place in range(count):
                store(c, place, alpha * load_wide(results, place) + beta * load(c, place))
        release(results)
        if is_half:
            release(copy)

    return multiply


def _types(data_type: DataType, arithmetic: DataType, count: int) -> tuple[Any, Any]:
    """How `count` elements are stored, and what they are in arithmetic."""
    bits = ir.IntType(8 * data_type.itemsize)
    number = REALS[arithmetic]
    return (bits, number) if count == 1 else (ir.VectorType(bits, count), ir.VectorType(number, count))


def _dots(data_type: DataType, arithmetic: DataType, rows: int) -> Any:
    """A function (matrix, k, vector, results): the product of each of so many adjacent rows and the vector."""
    width = _WIDTH_BYTES // arithmetic.itemsize

    @intrinsic
    def dots(typing_context: Any, matrix: Any, k: Any, vector: Any, results: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            matrix, k, vector, results = args
            bits, number = _types(data_type, arithmetic, 1)
            elements, numbers = (
                builder.inttoptr(matrix, bits.as_pointer()),
                builder.inttoptr(vector, number.as_pointer()),
            )

            def body(count: int) -> Any:
                stored, computed = _types(data_type, arithmetic, count)

                def step(index: Any, sums: list[Any]) -> list[Any]:
                    place = builder.bitcast(builder.gep(numbers, [index]), computed.as_pointer())
                    y = builder.load(place, align=1)
                    after = []
                    for row, total in enumerate(sums):
                        offset = builder.add(index, builder.mul(k, WORD(row)))
                        source = builder.bitcast(builder.gep(elements, [offset]), stored.as_pointer())
                        x = widened(builder, builder.load(source, align=1), data_type)
                        after.append(add_product(builder, x, y, total))
                    return after

                return step

            wide = _types(data_type, arithmetic, width)[1]
            zeros = [ir.Constant(wide, [0.0] * width)] * rows
            left, *sums = loop(builder, WORD(0), k, width, zeros, body(width))
            name = f"llvm.vector.reduce.fadd.v{width}f{8 * arithmetic.itemsize}"
            reduce = function(builder, name, number, number, wide)
            totals = [builder.call(reduce, [number(0.0), one], fastmath=("reassoc",)) for one in sums]
            _, *totals = loop(builder, left, k, 1, totals, body(1))
            target = builder.inttoptr(results, number.as_pointer())
            for row, total in enumerate(totals):
                builder.store(total, builder.gep(target, [WORD(row)]), align=1)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 4), generate

    return dots


def _sums(data_type: DataType, arithmetic: DataType, columns: int) -> Any:
    """A function (matrix, k, ld, vector, results): the product of the vector and each of so many adjacent columns."""

    @intrinsic
    def sums(typing_context: Any, matrix: Any, k: Any, ld: Any, vector: Any, results: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            matrix, k, ld, vector, results = args
            bits, number = _types(data_type, arithmetic, 1)
            stored, computed = _types(data_type, arithmetic, columns)
            elements, numbers = (
                builder.inttoptr(matrix, bits.as_pointer()),
                builder.inttoptr(vector, number.as_pointer()),
            )

            def step(index: Any, totals: list[Any]) -> list[Any]:
                y = builder.load(builder.gep(numbers, [index]), align=1)
                if columns > 1:
                    y = spread(builder, y, columns)
                source = builder.bitcast(builder.gep(elements, [builder.mul(index, ld)]), stored.as_pointer())
                x = widened(builder, builder.load(source, align=1), data_type)
                return [add_product(builder, x, y, totals[0])]

            zero = ir.Constant(computed, [0.0] * columns if columns > 1 else 0.0)
            _, total = loop(builder, WORD(0), k, 1, [zero], step)
            builder.store(total, builder.inttoptr(results, computed.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 5), generate

    return sums
