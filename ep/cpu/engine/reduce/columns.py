"""What folds rows into values of their columns."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from ep.cpu.engine.reduce.vectors import (
    Fold,
    Lanes,
    by_width,
    combined,
    fold_loop,
    lanes_behind,
    lanes_of,
    place_of,
    two_sum,
    widths_of,
)

_WORD: Final = ir.IntType(64)
_LINE: Final = 64


def rows_at_once(of: Lanes) -> int:
    """How many rows are folded at once, each read by an instruction of its own, so that processors foresee it.

    Of float64 no more numbers are added in a row. Rows that are a page apart share few places of the first cache.
    """
    return 8 if of.compensated else 4


@cache
def column_folder(of: Lanes, scaled: bool = False) -> Any:
    """A function fold(total, error, fresh, address, stride, ahead, num_rows, count, scale): rows into `count` values.

    total, error: the values, and what rounding has lost of them; with `fresh` they hold nothing yet.
    stride: bytes from a row to the next. num_rows: from 1 to `rows_at_once`. count: at least 1.
    ahead: how many bytes on from those that are read lines are fetched into the second cache.
    scale: what each is multiplied by first if `scaled`; of float64 alone.
    """

    @intrinsic
    def fold_columns(
        typing_context: Any,
        total: Any,
        error: Any,
        fresh: Any,
        address: Any,
        stride: Any,
        ahead: Any,
        num_rows: Any,
        count: Any,
        scale: Any,
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            total, error, fresh, address, stride, ahead, num_rows, count, scale = args
            scale, values = scale if scaled else None, builder.mul(count, _WORD(of.parts))
            nothing_yet, fold = builder.icmp_unsigned("!=", fresh, _WORD(0)), Fold(builder, of, by_lanes=True)
            rows = [builder.add(address, builder.mul(stride, _WORD(row))) for row in range(rows_at_once(of))]

            number_bytes = of.stored.itemsize * (2 if of.pairs else 1)

            def read(place: Any, index: Any, width: int) -> Any:
                begin = builder.add(builder.add(place, ahead), builder.mul(index, _WORD(number_bytes)))
                for skip in range(0, width * number_bytes, _LINE):
                    _prefetch(builder, builder.add(begin, _WORD(skip)))
                return fold.read(place, index, width, scale)

            def all_rows(carried: Any, index: Any, width: int) -> Any:
                for place, other in zip(rows[1::2], rows[2::2], strict=False):
                    carried = fold.more(carried, *(read(each, index, width) for each in (place, other)))
                return fold.more(carried, read(rows[-1], index, width))

            def some_rows(carried: Any, index: Any, width: int) -> Any:
                def more(row: Any, carried: Any) -> Any:
                    place = builder.add(address, builder.mul(row, stride))
                    return fold.more(carried, fold.read(place, index, width, scale))

                return fold_loop(builder, _WORD(1), num_rows, 1, carried, more)

            def columns(further: Any, width: int, index: Any, is_new: Any = None) -> None:
                def place(kept: Any, skip: int, vector: Any) -> Any:
                    return place_of(builder, of, kept, builder.add(index, _WORD(skip)), vector.type.count)

                def store(value: Any, before: Any, kept: Any, skip: int) -> None:
                    if is_new is not None:
                        new = lanes_of(builder, is_new, skip, value.type.count)
                        value = builder.select(new, value, before)
                    builder.store(value, place(kept, skip, value), align=1)

                first = read(address, index, width)
                skips = range(0, width, first[0].type.count)
                before = [
                    builder.load(place(total, skip, one), align=1) for skip, one in zip(skips, first, strict=True)
                ]
                if not of.compensated:
                    first = tuple(
                        builder.select(nothing_yet, one, combined(builder, of, old, one))
                        for old, one in zip(before, first, strict=True)
                    )
                found = fold.values(further(fold.first(first), index, width))
                for skip, old, value in zip(skips, before, found, strict=True):
                    if of.compensated:
                        old_error = builder.load(place(error, skip, value), align=1)
                        together, lost = two_sum(builder, old, value)
                        lost = builder.select(nothing_yet, ir.Constant(lost.type, None), builder.fadd(old_error, lost))
                        store(lost, old_error, error, skip)
                        value = builder.select(nothing_yet, value, together)
                    store(value, old, total, skip)

            def do(width: int) -> None:
                def with_rows(further: Any) -> None:
                    whole = builder.and_(values, _WORD(-width))
                    fold_loop(builder, _WORD(0), whole, width, None, lambda index, _: columns(further, width, index))
                    if width > of.parts:
                        with builder.if_then(builder.icmp_signed("<", whole, values)):
                            last = builder.sub(values, _WORD(width))
                            columns(further, width, last, lanes_behind(builder, width, values))

                with builder.if_else(builder.icmp_signed("==", num_rows, _WORD(len(rows)))) as (then, otherwise):
                    with then:
                        with_rows(all_rows)
                    with otherwise:
                        with_rows(some_rows)

            by_width(builder, widths_of(of, of.parts), values, do)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 8, types.float64), generate

    return fold_columns


def _prefetch(builder: Any, address: Any) -> None:
    """Ask for the line at an address, which need not be one that may be read."""
    pointer, bits32 = ir.IntType(8).as_pointer(), ir.IntType(32)
    function_type = ir.FunctionType(ir.VoidType(), [pointer, bits32, bits32, bits32])
    function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0")
    builder.call(function, [builder.inttoptr(address, pointer), bits32(0), bits32(2), bits32(1)])
