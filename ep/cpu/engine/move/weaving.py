"""Writers between rows of a few units and planes, such as a pixel's channels: interleaved, or each in its own plane.

One vector of each plane holds the same units as an equal number of vectors of rows; they are shuffled in registers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ep.common.loops import unrolled
from ep.cpu.compile.jit import inlined, jit
from ep.cpu.compile.memory import unit_functions
from ep.cpu.compile.vector import load, shuffle_several, store, store_nontemporal, vector
from ep.cpu.engine.move.run_writer import VECTOR
from ep.cpu.lines.sizes import LINE
from ep.include.data_type import DataType


def weave(unit: int, planes: int) -> Callable[..., None]:
    """Return the writer of adjacent rows of `planes` units, each of which comes from its own plane in src."""
    move_vectors, copy_unit, per_vector = _shuffler(unit, planes, True), unit_functions(unit)[0], VECTOR // unit
    move_lines, per_line = _shuffler(unit, planes, True, past_caches=True), LINE // unit

    def write(
        dst: int, dst_row: int, dst_step: int, src: int, src_row: int, src_step: int, num_rows: int, count: int,
        past: int, following: int,
    ) -> None:  # fmt: skip
        done, head = 0, _rows_to_line(dst, planes * unit, per_line) if past != 0 and count == planes else per_line
        if head < per_line and head + per_line <= num_rows:
            for i in range(head):
                for k in range(planes):
                    copy_unit(dst + i * dst_row, k, src + i * unit + k * src_step, 0)
            done = head
            while done + per_line <= num_rows:
                move_lines(dst + done * planes * unit, LINE, src + done * unit, src_step)
                done += per_line
        elif count == planes and num_rows >= per_vector:
            while done < num_rows:
                done = min(done, num_rows - per_vector)
                move_vectors(dst + done * dst_row, VECTOR, src + done * unit, src_step)
                done += per_vector
        for i in range(done, num_rows):
            for k in range(count):
                copy_unit(dst + i * dst_row, k, src + i * unit + k * src_step, 0)

    return write


def unweave(unit: int, planes: int) -> Callable[..., None]:
    """Return the writer that splits adjacent rows of `planes` units of src, each unit going to its own plane."""
    move_vectors, copy_unit, per_vector = _shuffler(unit, planes, False), unit_functions(unit)[0], VECTOR // unit
    move_lines, per_line = _shuffler(unit, planes, False, past_caches=True), LINE // unit

    def write(
        dst: int, dst_row: int, dst_step: int, src: int, src_row: int, src_step: int, num_rows: int, count: int,
        past: int, following: int,
    ) -> None:  # fmt: skip
        done, head = 0, _rows_to_line(dst, unit, per_line) if past != 0 and count == planes else per_line
        if head < per_line and head + per_line <= num_rows:
            for i in range(head):
                for k in range(planes):
                    copy_unit(dst + i * unit + k * dst_step, 0, src + i * src_row, k)
            done = head
            while done + per_line <= num_rows:
                move_lines(dst + done * unit, dst_step, src + done * planes * unit, LINE)
                done += per_line
        elif count == planes and num_rows >= per_vector:
            while done < num_rows:
                done = min(done, num_rows - per_vector)
                move_vectors(dst + done * unit, dst_step, src + done * src_row, VECTOR)
                done += per_vector
        for i in range(done, num_rows):
            for k in range(count):
                copy_unit(dst + i * unit + k * dst_step, 0, src + i * src_row, k)

    return write


@cache
def every(unit: int, step: int) -> Any:
    """Return a function take(dst, src, count) that copies the first of every `step` units of src to adjacent units.

    It returns how many of the `count` units it has taken: full vectors only, and never the last unit, since src may end
    right after it.
    """
    Bytes, per_vector, (first, *_) = vector(DataType.kUInt8, VECTOR), VECTOR // unit, _takers(unit, step, False, VECTOR)

    @inlined
    def take_vector(dst: int, src: int) -> None:
        store(dst, 0, first(*(load(Bytes, src + number * VECTOR) for number in unrolled(range(step)))))

    @jit
    def take(dst: int, src: int, count: int) -> int:
        done = 0
        while done + per_vector < count:  # LLVM writes several vectors in a turn
            take_vector(dst + done * unit, src + done * step * unit)
            done += per_vector
        return done

    return take


@jit
def _rows_to_line(dst: int, row_bytes: int, most: int) -> int:
    """Return the number of rows of dst before one that begins at a cache line; `most` if none does."""
    for rows in range(most):
        if (dst + rows * row_bytes) & (LINE - 1) == 0:
            return rows
    return most


@cache
def _shuffler(unit: int, planes: int, woven: bool, past_caches: bool = False) -> Any:
    """Return a function move(dst, dst_pitch, src, src_pitch) of `planes` vectors on either side.

    woven: whether src is the planes and dst gets the rows; otherwise the reverse.
    past_caches: vectors are cache lines, and dst is written with non-temporal stores.
    """
    size, write = (LINE, store_nontemporal) if past_caches else (VECTOR, store)
    Bytes, takers = vector(DataType.kUInt8, size), _takers(unit, planes, woven, size)

    @inlined
    def move(dst: int, dst_pitch: int, src: int, src_pitch: int) -> None:
        vectors = Bytes.array_on_stack(planes)
        for number in unrolled(range(planes)):
            vectors[number] = load(Bytes, src + number * src_pitch)
        for target, take in unrolled(enumerate(takers)):
            write(dst + target * dst_pitch, 0, take(*(vectors[number] for number in unrolled(range(planes)))))

    return move


def _takers(unit: int, planes: int, woven: bool, size: int) -> tuple[Any, ...]:
    """Return, for each vector of dst, the function of the vectors of src, of `size` bytes, that returns it."""
    per_vector = size // unit

    def source(place: int) -> int:
        """Return the unit of src that is unit `place` of dst."""
        if woven:
            row, plane = divmod(place, planes)
            return plane * per_vector + row
        return place % per_vector * planes + place // per_vector

    places = [source(place) * unit + part for place in range(planes * per_vector) for part in range(unit)]
    return tuple(shuffle_several(planes, *places[first : first + size]) for first in range(0, planes * size, size))
