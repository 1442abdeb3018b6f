"""Boxing: the moves of `ep.sbp.moves`, carried out by the ranks of a group.

A reduction is an exchange, which gives each rank the values that all ranks have for its part, followed by a sum or
maximum of them by Reduce. It works for all data types, handles NaN, and gives the same bits on all ranks and in all
runs with one number of ranks. An all-reduce is a reduction of even parts of the flat tensor, followed by an all-gather.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Final

from ep.include.arrays import Array, Arrays
from ep.mesh.transport import Group
from ep.ops.declare.function import FUNCTIONS
from ep.sbp import Move, PartialMax, PartialSum, Sbp, Split, piece_shape, span

Dims = tuple[int, ...]


def moved(arrays: Arrays, group: Group, piece: Array, move: Move, whole: Dims) -> Array:
    """Return the piece of this rank after a move.

    piece: the piece before it. whole: the shape of the tensor that the ranks of the group have together.
    """
    return _MOVES[move.name](arrays, group, piece, move.source, move.target, whole)


def _all_gather(arrays: Arrays, group: Group, piece: Array, source: Any, target: Sbp, whole: Dims) -> Array:
    shapes = [piece_shape(whole, source, group.size, rank) for rank in range(group.size)]
    every = group.all_gather(arrays, piece.reshape(-1), list(map(math.prod, shapes)))
    return _side_by_side(every, shapes, source.axis)


def _all_to_all(arrays: Arrays, group: Group, piece: Array, source: Any, target: Any, whole: Dims) -> Array:
    shapes = [
        piece_shape(piece_shape(whole, target, group.size, group.rank), source, group.size, rank)
        for rank in range(group.size)
    ]
    return _side_by_side(_exchanged(arrays, group, piece, target, list(map(math.prod, shapes))), shapes, source.axis)


def _reduce_scatter(arrays: Arrays, group: Group, piece: Array, source: Sbp, target: Any, whole: Dims) -> Array:
    mine = piece_shape(whole, target, group.size, group.rank)
    every = _exchanged(arrays, group, piece, target, [math.prod(mine)] * group.size)
    return _combined(every.reshape(group.size, *mine), source)


def _all_reduce(arrays: Arrays, group: Group, piece: Array, source: Sbp, target: Sbp, whole: Dims) -> Array:
    flat = (math.prod(whole),)
    part = _reduce_scatter(arrays, group, piece.reshape(-1), source, Split(0), flat)
    return _all_gather(arrays, group, part, Split(0), target, flat).reshape(whole)


def _local(arrays: Arrays, group: Group, piece: Array, source: Sbp, target: Sbp, whole: Dims) -> Array:
    """Return a piece made without an exchange: a part of the whole, the whole on rank 0 only, or a part among zeros."""
    if isinstance(target, Split):
        return _part(piece, target.axis, *span(whole[target.axis], group.size, group.rank))
    if isinstance(source, Split):
        begin, end = span(whole[source.axis], group.size, group.rank)
        widths = [(0, 0)] * len(whole)
        widths[source.axis] = (begin, whole[source.axis] - end)
        return FUNCTIONS["pad"](piece, widths)
    if isinstance(target, PartialSum) and group.rank > 0:
        return FUNCTIONS["pad"](_part(piece.reshape(-1), 0, 0, 0), (0, math.prod(whole))).reshape(whole)
    return piece


_Way = Callable[[Arrays, Group, Array, Any, Any, Dims], Array]
_MOVES: Final[dict[str, _Way]] = {
    "all-gather": _all_gather,
    "all-to-all": _all_to_all,
    "reduce-scatter": _reduce_scatter,
    "all-reduce": _all_reduce,
    "local": _local,
}


def _exchanged(arrays: Arrays, group: Group, piece: Array, target: Split, received: Sequence[int]) -> Array:
    """Give each rank its part along an axis, and return the parts of all ranks for this rank, flat."""
    parts = [piece_shape(piece.shape, target, group.size, rank) for rank in range(group.size)]
    if target.axis > 0:
        ends = [span(piece.shape[target.axis], group.size, rank)[1] for rank in range(group.size - 1)]
        piece = FUNCTIONS["concat"](FUNCTIONS["split"](piece, ends, target.axis), None)
    return group.all_to_all(arrays, piece.reshape(-1), list(map(math.prod, parts)), received)


def _side_by_side(flat: Array, shapes: Sequence[Dims], axis: int) -> Array:
    """Return consecutive pieces joined side by side along an axis."""
    first, sizes = shapes[0], list(map(math.prod, shapes))
    if math.prod(first[:axis]) == 1:
        return flat.reshape(*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :])
    parts = FUNCTIONS["split"](flat, list(accumulate(sizes[:-1])))
    return FUNCTIONS["concat"]([part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)], axis)


def _part(array: Array, axis: int, begin: int, end: int) -> Array:
    return FUNCTIONS["slice"](array, *[None] * axis, (begin, end))


def _combined(every: Array, source: Sbp) -> Array:
    """Return the value of partial tensors, which are stacked along a first axis."""
    if isinstance(source, PartialSum):
        is_bool = every.dtype.kind == "b"
        return FUNCTIONS["any"](every, 0) if is_bool else FUNCTIONS["sum"](every, 0, every.dtype)
    return FUNCTIONS["max" if isinstance(source, PartialMax) else "min"](every, 0)
