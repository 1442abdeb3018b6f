"""Add: the sum of any number of operands in one pass; each sum stays in registers until it is complete."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.common.native.emitted import emitted
from ep.common.native.fields import Int64
from ep.common.native.object_layout import DATA, TUPLE_ITEMS, TUPLE_LENGTH
from ep.common.native.words import load_word
from ep.common.stored_types import added_as
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.conversion import narrowed, widened
from ep.cpu.compile.jit import jit
from ep.cpu.compile.vectors import WORD, counted, load, store, store_nontemporal, stored_bits
from ep.cpu.engine.entry import launcher
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.map.state import MapState
from ep.cpu.lines.inline_copy import copy_bytes
from ep.cpu.lines.streaming import LINE_BYTES, run_writing, stream_row
from ep.cpu.shared.context import LATER, Context
from ep.cpu.shared.state import GRAIN_BYTES, LaunchState
from ep.include.data_type import DataType
from ep.include.number_kind import Kind, number_kind

_BLOCK_BYTES: Final = 256  # of a block of sums, in their arithmetic type: four of the widest vectors
_FEW: Final = 8  # elements of the blocks for the remainder


def add_launcher(state: LaunchState, data_type: DataType) -> Launcher:
    """Return the launcher of Add, whose first operand is a tuple."""
    kernel = add_kernel(data_type)
    state.set(task=kernel, row_kernel=kernel, streaming_kernel=LATER)
    return launcher("add", _launch, many=True)


@jit
def _launch(context: Context, num_bytes: int, in_place: bool, sizes: Int64) -> int:
    state, count = MapState.at(context.state), sizes[0]
    size = 0 if in_place else context.dst_size
    grain = max(GRAIN_BYTES // (num_bytes // count), 1)
    context.streaming = state.streaming_kernel
    return run_writing(context, state.task, count, size, num_bytes, grain)


def add_kernel(data_type: DataType, streaming: bool = False) -> int:
    """Return the address of the task (context, begin, end) that adds elements.

    streaming: use non-temporal stores; the task is then called on whole cache lines of dst only.
    """
    return _kernel(*added_as(data_type), streaming)


@cache
def _kernel(data_type: DataType, parts: int, streaming: bool) -> int:
    """Return the same for elements of `parts` numbers of `data_type`."""
    size = data_type.itemsize
    block = _BLOCK_BYTES // max(size, 4 if number_kind(data_type) is Kind.FLOAT else size)
    few = LINE_BYTES // size if streaming else _FEW
    copy = stream_row if streaming else copy_bytes
    add_block, add_few, add_one = (_adder(data_type, count, streaming) for count in (block, few, 1))

    def add(context: Context, begin: int, end: int) -> None:
        dst, srcs = context.dst, context.plan
        number, items = load_word(srcs + TUPLE_LENGTH, 0), srcs + TUPLE_ITEMS
        begin *= parts
        end *= parts
        if number <= 1:
            copy(dst + begin * size, load_word(load_word(items, 0) + DATA, 0) + begin * size, (end - begin) * size)
            return
        while end - begin >= block:
            add_block(dst, items, number, begin)
            begin += block
        while end - begin >= few:
            add_few(dst, items, number, begin)
            begin += few
        if not streaming:
            while begin < end:
                add_one(dst, items, number, begin)
                begin += 1

    return compile_task(f"add.{data_type.name}" + f".{parts}" * (parts > 1) + ".lines" * streaming, add, light=True)


@cache
def _adder(data_type: DataType, count: int, streaming: bool) -> Any:
    """Return a function (dst, items, number, begin) that adds `count` elements from `begin` on of `number` arrays."""
    is_float, is_bool = number_kind(data_type) is Kind.FLOAT, data_type is DataType.kBool
    stored = stored_bits(data_type, count if count > 1 else None)

    @emitted()
    def add_elements(builder: Any, dst: Any, items: Any, number: Any, begin: Any) -> None:
        def elements(k: Any) -> Any:
            array = load(builder, items, WORD, k, align=8)
            data = load(builder, builder.add(array, WORD(DATA)), WORD, align=8)
            return widened(builder, load(builder, data, stored, begin), data_type)

        def add(k: Any, values: list[Any]) -> list[Any]:
            write = builder.fadd if is_float else builder.or_ if is_bool else builder.add
            return [write(values[0], elements(k))]

        _, (total,) = counted(builder, WORD(1), number, 1, [elements(WORD(0))], add)
        (store_nontemporal if streaming else store)(builder, narrowed(builder, total, data_type), dst, begin)

    return add_elements
