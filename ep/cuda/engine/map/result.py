"""How a kernel writes dst, in the order of the walk or where the walk says."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ep.cuda.compile.memory import storer
from ep.cuda.compile.numba_cuda import device_function
from ep.cuda.compile.walk import walk
from ep.cuda.engine.map.access import Access
from ep.include.data_type import DataType


class Result(NamedTuple):
    """Functions that write dst.

    pack(dst, i, pack, words): pack i of the walk; words: those of the walk.
    element(dst, n, pack, words): element n, from a pack of one.
    """

    pack: Any
    element: Any


@cache
def result(access: Access, data_type: DataType, count: int, num_sides: int, num_axes: int, bits: int) -> Result:
    """The functions for packs of `count` elements of the last of the walk's `num_sides`."""
    store, store_one = storer(data_type, count), storer(data_type, 1, aligned=False)
    if access is Access.SAME:
        return Result(
            device_function(lambda dst, i, pack, words: store(dst, i, pack)),
            device_function(lambda dst, n, pack, words: store_one(dst, n, pack)),
        )
    offsets, last = walk(num_axes, num_sides, bits), num_sides - 1
    return Result(  # by PACK there are whole packs alone, and by EACH single elements alone
        device_function(lambda dst, i, pack, words: store(dst, offsets(i, words)[last], pack)),
        device_function(lambda dst, n, pack, words: store_one(dst, offsets(n, words)[last], pack)),
    )
