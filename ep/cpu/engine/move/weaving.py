"""Writers between rows of a few units and as many planes: a pixel's channels, side by side or each in its own plane.

A vector of each plane, and as many vectors of rows, hold the same units: they pass from one to the other in registers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ep.cpu.compile.memory import unit_functions
from ep.cpu.engine.move.row_writer import VECTOR


def weave(unit: int, planes: int) -> Callable[..., None]:
    """The writer of adjacent rows of `planes` units, each from a plane of its own in src."""
    move_vectors, copy_unit, per_vector = _shuffler(unit, planes, True), unit_functions(unit)[0], VECTOR // unit

    def write(dst, dst_row, dst_step, src, src_row, src_step, num_rows, count):
        done = 0
        if count == planes and num_rows >= per_vector:
            while done < num_rows:
                done = min(done, num_rows - per_vector)
                move_vectors(dst + done * dst_row, VECTOR, src + done * unit, src_step)
                done += per_vector
        for i in range(done, num_rows):
            for k in range(count):
                copy_unit(dst + i * dst_row, k, src + i * unit + k * src_step, 0)

    return write


def unweave(unit: int, planes: int) -> Callable[..., None]:
    """The writer that takes adjacent rows of `planes` units of src apart, each unit to a plane of its own."""
    move_vectors, copy_unit, per_vector = _shuffler(unit, planes, False), unit_functions(unit)[0], VECTOR // unit

    def write(dst, dst_row, dst_step, src, src_row, src_step, num_rows, count):
        done = 0
        if count == planes and num_rows >= per_vector:
            while done < num_rows:
                done = min(done, num_rows - per_vector)
                move_vectors(dst + done * unit, dst_step, src + done * src_row, VECTOR)
                done += per_vector
        for i in range(done, num_rows):
            for k in range(count):
                copy_unit(dst + i * unit + k * dst_step, 0, src + i * src_row, k)

    return write


@cache
def _shuffler(unit: int, planes: int, woven: bool) -> Any:
    """A function move(dst, dst_pitch, src, src_pitch) of `planes` vectors on either side.

    woven: whether dst gets the rows, and src is the planes; else the other way round.
    """
    byte, word = ir.IntType(8), ir.IntType(64)
    vector, mask = ir.VectorType(byte, VECTOR), ir.VectorType(ir.IntType(32), VECTOR)
    per_vector = VECTOR // unit

    def source(target: int, place: int) -> tuple[int, int]:
        """The vector, and the unit in it, that unit `place` of vector `target` comes from."""
        if woven:
            row, plane = divmod(target * per_vector + place, planes)
            return plane, row
        return divmod(place * planes + target, per_vector)

    @intrinsic
    def move(typing_context: Any, dst: Any, dst_pitch: Any, src: Any, src_pitch: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            dst, dst_pitch, src, src_pitch = args

            def pointer(address: Any, pitch: Any, number: int) -> Any:
                place = builder.add(address, builder.mul(word(number), pitch))
                return builder.inttoptr(place, vector.as_pointer())

            vectors = [builder.load(pointer(src, src_pitch, i), align=1) for i in range(planes)]
            for target in range(planes):
                sources = [source(target, place) for place in range(per_vector)]
                value = vectors[0]
                for number in range(1, planes):  # what comes from the vectors so far stays, the rest is taken from one
                    chosen = [
                        VECTOR + of * unit + part if taken == number else (of if number == 1 else place) * unit + part
                        for place, (taken, of) in enumerate(sources)
                        for part in range(unit)
                    ]
                    value = builder.shuffle_vector(value, vectors[number], ir.Constant(mask, chosen))
                builder.store(value, pointer(dst, dst_pitch, target), align=1)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 4), generate

    return move
