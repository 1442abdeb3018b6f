"""The writes of a result, in the order of the walk or at its offsets."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ep.cuda.compile.memory import storer
from ep.cuda.compile.numba_cuda import device_function
from ep.cuda.compile.walk import walk
from ep.cuda.engine.map.access import Access
from ep.include.data_type import DataType


class Result(NamedTuple):
    """Functions that write one result.

    pack(dst, i, pack, words): pack i of the walk; words: those of the walk.
    element(dst, n, pack, words): element n, from a pack of one.
    """

    pack: Any
    element: Any


@cache
def result(
    access: Access,
    data_type: DataType,
    count: int,
    position: int,
    num_offsets: int,
    num_axes: int,
    bits: int,
    streams: bool,
) -> Result:
    """Return the functions for packs of `count` elements, at offset `position` of the walk's `num_offsets`.

    streams: as in `Form`.
    """
    store, store_one = storer(data_type, count, streams=streams), storer(data_type, 1, aligned=False, streams=streams)
    if access is Access.SAME:
        return Result(
            device_function(lambda dst, i, pack, words: store(dst, i, pack)),
            device_function(lambda dst, n, pack, words: store_one(dst, n, pack)),
        )
    offsets = walk(num_axes, num_offsets, bits)
    return Result(  # PACK has only whole packs, and EACH only single elements
        device_function(lambda dst, i, pack, words: store(dst, offsets(i, words)[position], pack)),
        device_function(lambda dst, n, pack, words: store_one(dst, offsets(n, words)[position], pack)),
    )
