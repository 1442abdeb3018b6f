"""Products of a matrix and a vector: each element of the matrix is used once, so that all depends on how it is read.

Where elements that are summed up lie side by side, several rows are gone along at once. Where they lie below each
other, several rows are added to sums that stay in the first cache: the matrix is read in runs as long as these, which
processors foresee, and not in columns, each of whose rows is on another page. 16-bit types are widened when read.
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
_ADDED_ROWS: Final = 8  # that are added to the sums at once
_WIDTH_BYTES: Final = 64  # of the numbers that are added up side by side
_SUMS_BYTES: Final = 16384  # of the sums that rows are added to, at most


@cache
def vector_multiplier(data_type: DataType) -> Any:
    """A function (context, words, a, b, c, first_row, first_column, rows, columns) for one row or one column of c."""
    arithmetic = DataType.kFloat if data_type in HALVES else data_type
    size, is_half, wide = data_type.itemsize, data_type in HALVES, arithmetic.itemsize
    load, store, store_wide = loader(data_type), storer(data_type), storer(arithmetic)
    load_wide, most_sums = loader(arithmetic), _SUMS_BYTES // wide
    dots, dot = (_dots(data_type, arithmetic, rows) for rows in (_ROWS, 1))
    add_rows, add_row = (_row_adder(data_type, arithmetic, rows) for rows in (_ADDED_ROWS, 1))

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
            for place in range(count):
                store_wide(results, place, 0)
            for place in range(0, count, most_sums):
                row, length = 0, min(most_sums, count - place)
                while row < k:
                    source, sums = matrix + (row * ld + first + place) * size, results + place * wide
                    if k - row >= _ADDED_ROWS:
                        add_rows(source, length, ld, vector + row * wide, sums)
                        row += _ADDED_ROWS
                    else:
                        add_row(source, length, ld, vector + row * wide, sums)
                        row += 1
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


def _row_adder(data_type: DataType, arithmetic: DataType, rows: int) -> Any:
    """A function (matrix, columns, ld, vector, sums): so many rows, each times its number of the vector, are added."""
    width = _WIDTH_BYTES // arithmetic.itemsize

    @intrinsic
    def add_rows(typing_context: Any, matrix: Any, columns: Any, ld: Any, vector: Any, sums: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            matrix, columns, ld, vector, sums = args
            bits, number = _types(data_type, arithmetic, 1)
            elements, numbers, totals = (
                builder.inttoptr(one, kind.as_pointer())
                for one, kind in ((matrix, bits), (vector, number), (sums, number))
            )
            sources = [builder.gep(elements, [builder.mul(ld, WORD(row))]) for row in range(rows)]
            factors = [builder.load(builder.gep(numbers, [WORD(row)]), align=1) for row in range(rows)]

            def body(count: int) -> Any:
                stored, computed = _types(data_type, arithmetic, count)
                many = [spread(builder, one, count) if count > 1 else one for one in factors]

                def step(index: Any, nothing: list[Any]) -> list[Any]:
                    place = builder.bitcast(builder.gep(totals, [index]), computed.as_pointer())
                    total = builder.load(place, align=1)
                    for source, factor in zip(sources, many, strict=True):
                        pointer = builder.bitcast(builder.gep(source, [index]), stored.as_pointer())
                        x = widened(builder, builder.load(pointer, align=1), data_type)
                        total = add_product(builder, x, factor, total)
                    builder.store(total, place, align=1)
                    return nothing

                return step

            (left,) = loop(builder, WORD(0), columns, width, [], body(width))
            loop(builder, left, columns, 1, [], body(1))
            return context.get_dummy_value()

        return types.void(*[types.int64] * 5), generate

    return add_rows
