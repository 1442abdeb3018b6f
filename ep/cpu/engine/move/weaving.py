"""Writers between rows of a few units and planes, such as a pixel's channels: interleaved, or each in its own plane.

One vector of each plane holds the same units as an equal number of vectors of rows; they are shuffled in registers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir

from ep.common.native.emitted import emitted
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import unit_functions
from ep.cpu.compile.vectors import BYTE, WORD, load, store, store_nontemporal, taken
from ep.cpu.engine.move.run_writer import VECTOR
from ep.cpu.lines.sizes import LINE


def weave(unit: int, planes: int) -> Callable[..., None]:
    """Return the writer of adjacent rows of `planes` units, each of which comes from its own plane in src."""
    move_vectors, copy_unit, per_vector = _shuffler(unit, planes, True), unit_functions(unit)[0], VECTOR // unit
    move_lines, per_line = _shuffler(unit, planes, True, past_caches=True), LINE // unit

    @jit
    def write_lines(dst, src, src_step, begin, num_rows):
        while begin + per_line <= num_rows:
            move_lines(dst + begin * planes * unit, LINE, src + begin * unit, src_step)
            begin += per_line
        return begin

    def write(dst, dst_row, dst_step, src, src_row, src_step, num_rows, count, past, following):
        done, head = 0, _rows_to_line(dst, planes * unit, per_line) if past != 0 and count == planes else per_line
        if head < per_line and head + per_line <= num_rows:
            for i in range(head):
                for k in range(planes):
                    copy_unit(dst + i * dst_row, k, src + i * unit + k * src_step, 0)
            done = write_lines(dst, src, src_step, head, num_rows)
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

    @jit
    def write_lines(dst, dst_step, src, begin, num_rows):
        while begin + per_line <= num_rows:
            move_lines(dst + begin * unit, dst_step, src + begin * planes * unit, LINE)
            begin += per_line
        return begin

    def write(dst, dst_row, dst_step, src, src_row, src_step, num_rows, count, past, following):
        done, head = 0, _rows_to_line(dst, unit, per_line) if past != 0 and count == planes else per_line
        if head < per_line and head + per_line <= num_rows:
            for i in range(head):
                for k in range(planes):
                    copy_unit(dst + i * unit + k * dst_step, 0, src + i * src_row, k)
            done = write_lines(dst, dst_step, src, head, num_rows)
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
    move_vectors, per_vector = _shuffler(unit, step, False, targets=1), VECTOR // unit

    @jit
    def take(dst, src, count):
        done = 0
        while done + per_vector < count:
            move_vectors(dst + done * unit, 0, src + done * step * unit, VECTOR)
            done += per_vector
        return done

    return take


@jit
def _rows_to_line(dst, row_bytes, most):
    """Return the number of rows of dst before one that begins at a cache line; `most` if none does."""
    for rows in range(most):
        if (dst + rows * row_bytes) & (LINE - 1) == 0:
            return rows
    return most


@cache
def _shuffler(unit: int, planes: int, woven: bool, past_caches: bool = False, targets: int = 0) -> Any:
    """Return a function move(dst, dst_pitch, src, src_pitch) of `planes` vectors on either side.

    woven: whether src is the planes and dst gets the rows; otherwise the reverse.
    past_caches: vectors are cache lines, and dst is written with non-temporal stores.
    targets: the number of vectors of dst that are written, from the first on; 0 for all.
    """
    size = LINE if past_caches else VECTOR
    vector = ir.VectorType(BYTE, size)
    per_vector = size // unit

    def source(target: int, place: int) -> tuple[int, int]:
        """Return the source vector, and the unit in it, of unit `place` of vector `target`."""
        if woven:
            row, plane = divmod(target * per_vector + place, planes)
            return plane, row
        return divmod(place * planes + target, per_vector)

    @emitted()
    def move(builder: Any, dst: Any, dst_pitch: Any, src: Any, src_pitch: Any) -> None:
        def place_of(address: Any, pitch: Any, number: int) -> Any:
            return builder.add(address, builder.mul(WORD(number), pitch))

        vectors = [load(builder, place_of(src, src_pitch, number), vector) for number in range(planes)]
        for target in range(targets or planes):
            sources = [source(target, place) for place in range(per_vector)]
            value = vectors[0]
            for number in range(1, planes):  # units from earlier vectors stay, the others come from this one
                chosen = [
                    size + of * unit + part if taken_from == number else (of if number == 1 else place) * unit + part
                    for place, (taken_from, of) in enumerate(sources)
                    for part in range(unit)
                ]
                value = taken(builder, chosen, value, vectors[number])
            (store_nontemporal if past_caches else store)(builder, value, place_of(dst, dst_pitch, target))

    return move
