"""What Expand's walk calls on blocks of rows: a writer for each way in which rows are written, and size of a unit.

Strides are in bytes. `count` is the length of a row, or less where the range of a thread begins or ends in the middle
of one; `num_rows` is 1 then.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from ep.common.primitive.broadcast import StridedWalk
from ep.common.primitive.movement import MAX_UNIT
from ep.cpu.kernels.compiler import compile_task
from ep.cpu.kernels.memory import unit_functions
from ep.cpu.kernels.repetition import VECTOR, repeat_tiny_row, repeat_two_vectors, unit_repeater
from ep.cpu.kernels.rows import copy_row, copy_short_row, row_filler

_FEW: Final = 3  # units of a row, up to which they are moved one by one

Writer = Callable[[int, int, int, int, int, int, int, int], None]


def writer(walk: StridedWalk, unit: int) -> int:
    """The address of a task (dst, dst_row, dst_step, src, src_row, src_step, num_rows, count) for a walk over units."""
    count, src_step, dst_step = (part[-1] for part in walk)
    src_row, dst_row = (steps[-2] if len(steps) > 1 else 0 for steps in walk[1:])
    if src_step == dst_step == 1:
        if src_row == 0 and dst_row == count and count * unit <= 2 * VECTOR:
            return _compiled("repeat" if count * unit >= VECTOR else "repeat_tiny", 0, 0)
        return _compiled("few", unit, count) if count == _FEW else _compiled("copy", 0, 0)
    if src_step == 0 and dst_step == 1:
        return _compiled("each", unit, count) if 1 < count <= _FEW else _compiled("fill", unit, 0)
    return _compiled("any", unit, 0)


def compile_writers(unit: int, max_unit: int = MAX_UNIT) -> None:
    """Compile every writer that a walk over units of `unit` to `max_unit` bytes may need."""
    for kind in ("copy", "repeat", "repeat_tiny"):
        _compiled(kind, 0, 0)
    while unit <= max_unit:
        for kind, count in (("few", 3), ("each", 2), ("each", 3), ("fill", 0), ("any", 0)):
            _compiled(kind, unit, count)
        unit *= 2


@cache
def _compiled(kind: str, unit: int, count: int) -> int:
    """unit, count: bytes of a unit and units of a row, 0 where the writer is for any."""
    name = f"expand.{kind}" + (f".{unit}" if unit else "") + (f".{count}" if count else "")
    return compile_task(name, _MAKERS[kind](unit, count), 8)


def _copy(unit: int, of_count: int) -> Writer:
    """Rows of adjacent units on both sides, whatever the unit."""

    def write(dst, dst_row, dst_step, src, src_row, src_step, num_rows, count):  # type: ignore[no-untyped-def]
        for i in range(num_rows):
            copy_row(dst + i * dst_row, src + i * src_row, count * dst_step)

    return write


def _repeat(unit: int, of_count: int) -> Writer:
    """One row of one to two vectors, again and again without a gap, whatever the unit."""

    def write(dst, dst_row, dst_step, src, src_row, src_step, num_rows, count):  # type: ignore[no-untyped-def]
        if count * dst_step >= VECTOR:
            repeat_two_vectors(dst, src, count * dst_step, num_rows)
        else:
            copy_short_row(dst, src, count * dst_step)

    return write


def _repeat_tiny(unit: int, of_count: int) -> Writer:
    """One shorter row, again and again without a gap, whatever the unit."""

    def write(dst, dst_row, dst_step, src, src_row, src_step, num_rows, count):  # type: ignore[no-untyped-def]
        repeat_tiny_row(dst, src, count * dst_step, num_rows)

    return write


def _few(unit: int, of_count: int) -> Writer:
    """Rows of few units, `of_count`."""
    copy_unit = unit_functions(unit)[0]

    def write(dst, dst_row, dst_step, src, src_row, src_step, num_rows, count):  # type: ignore[no-untyped-def]
        if count == of_count:
            for i in range(num_rows):
                for k in range(of_count):
                    copy_unit(dst + i * dst_row + k * unit, 0, src + i * src_row + k * unit, 0)
        else:
            for k in range(count):
                copy_unit(dst, k, src, k)

    return write


def _each(unit: int, of_count: int) -> Writer:
    """Rows of one unit, few times: `of_count`."""
    copy_unit, repeat_units = unit_functions(unit)[0], unit_repeater(unit, of_count)

    def write(dst, dst_row, dst_step, src, src_row, src_step, num_rows, count):  # type: ignore[no-untyped-def]
        if count == of_count:
            done = repeat_units(dst, src, num_rows) if dst_row == unit * of_count and src_row == unit else 0
            for i in range(done, num_rows):
                for k in range(of_count):
                    copy_unit(dst + i * dst_row + k * unit, 0, src + i * src_row, 0)
        else:
            for k in range(count):
                copy_unit(dst, k, src, 0)

    return write


def _fill(unit: int, of_count: int) -> Writer:
    """Rows of one unit again and again."""
    fill_row = row_filler(unit)

    def write(dst, dst_row, dst_step, src, src_row, src_step, num_rows, count):  # type: ignore[no-untyped-def]
        for i in range(num_rows):
            fill_row(dst + i * dst_row, count * unit, src + i * src_row)

    return write


def _any(unit: int, of_count: int) -> Writer:
    """Rows with any steps."""
    copy_unit = unit_functions(unit)[0]

    def write(dst, dst_row, dst_step, src, src_row, src_step, num_rows, count):  # type: ignore[no-untyped-def]
        for i in range(num_rows):
            for k in range(count):
                copy_unit(dst + i * dst_row + k * dst_step, 0, src + i * src_row + k * src_step, 0)

    return write


_MAKERS: Final = {
    "copy": _copy,
    "repeat": _repeat,
    "repeat_tiny": _repeat_tiny,
    "few": _few,
    "each": _each,
    "fill": _fill,
    "any": _any,
}
