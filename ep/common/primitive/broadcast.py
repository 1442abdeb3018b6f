"""Broadcast dims, and the two ways to simplify them to as few axes as possible."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

from ep.include.errors import Argument, ArgumentValueError

Dims = tuple[int, ...]


def broadcast_dims(*operands: Sequence[int], names: Sequence[str] | None = None) -> Dims:
    """Return the dims that `operands` broadcast to, by NumPy's rules.

    Raises ValueError, with their names, if they do not.
    """
    result: list[int] = []
    for dims in operands:
        if len(dims) > len(result):
            result[:0] = dims[: len(dims) - len(result)]
        for axis, size in enumerate(dims, len(result) - len(dims)):
            if size != result[axis]:
                if result[axis] == 1:
                    result[axis] = size
                elif size != 1:
                    raise _do_not_broadcast(operands, names)
    return tuple(result)


def _do_not_broadcast(operands: Sequence[Sequence[int]], names: Sequence[str] | None) -> ArgumentValueError:
    """Return the error for dims that do not broadcast, with the first axis at which they do not."""
    shown = names or [f"operand {position}" for position in range(len(operands))]
    listed = [word for name, dims in zip(shown, operands, strict=True) for word in (Argument(name), f"{tuple(dims)},")]
    for axis in range(-max(map(len, operands)), 0):
        if len({dims[axis] for dims in operands if -axis <= len(dims)} - {1}) > 1:
            break
    return ArgumentValueError(*listed[:-1], f"{tuple(operands[-1])} do not broadcast at axis {axis}")


def simplify_broadcast_dims(*operands: Sequence[int]) -> tuple[list[Dims], Dims]:
    """Simplify dims that broadcast and have no size 0; return those of the operands and of the result.

    Axes of size 1 are removed, and neighbours that are broadcast in the same operands are merged:
    `(2,5,10,5)` with `(5,1,5,10,1)` becomes `(1,2,50,5)` with `(5,1,50,1)`. All have the same rank, at least 1.
    """
    num_dims = max(map(len, operands))
    padded = [(1,) * (num_dims - len(dims)) + tuple(dims) for dims in operands]
    kept: list[list[int]] = []  # the operands' sizes, by axis
    flags: list[tuple[bool, ...]] = []
    for sizes in zip(*padded, strict=True):
        if max(sizes) == 1:
            continue
        broadcast = tuple(size == 1 for size in sizes)
        if flags and flags[-1] == broadcast:
            kept[-1] = [a * b for a, b in zip(kept[-1], sizes, strict=True)]
        else:
            kept.append(list(sizes))
            flags.append(broadcast)
    kept = kept or [[1] * len(operands)]
    return [tuple(axis[position] for axis in kept) for position in range(len(operands))], tuple(map(max, kept))


def check_expands(src_dims: Dims, dst_dims: Dims) -> None:
    """Raise ValueError if src_dims do not broadcast to dst_dims."""
    if len(src_dims) > len(dst_dims):
        raise ArgumentValueError("src_dims", src_dims, "has more dims than", Argument("dst_dims"), dst_dims)
    for axis in range(-len(src_dims), 0):
        if src_dims[axis] not in (1, dst_dims[axis]):
            raise ArgumentValueError(
                "src_dims", src_dims, "does not expand to", Argument("dst_dims"), dst_dims, f"at axis {axis}"
            )


class StridedWalk(NamedTuple):
    """A walk that reads a source and writes a destination, both by strides in elements."""

    dims: Dims
    src_strides: Dims
    dst_strides: Dims


def simplify_walk(dims: Dims, *strides: Dims) -> tuple[Dims, ...]:
    """Simplify a walk over `dims`, none of size 0. strides: the operands', 0 along axes that are broadcast.

    Axes of size 1 are removed. Of the others, two neighbours are merged if every operand steps from one to the other
    without a gap. Returns the dims, of at least one axis, and the strides of each operand.
    """
    if dims and not _can_merge(dims, strides):
        return dims, *strides
    kept: list[tuple[int, ...]] = []  # by axis, its size and the operands' strides
    operands = range(1, 1 + len(strides))
    for axis in zip(dims, *strides, strict=True):
        size = axis[0]
        if size == 1:
            continue
        if kept:
            outer = kept[-1]
            for operand in operands:  # no generator: it would take longer than the few comparisons
                if outer[operand] != axis[operand] * size:
                    break
            else:
                kept[-1] = outer[0] * size, *axis[1:]
                continue
        kept.append(axis)
    return tuple(zip(*kept, strict=True)) if kept else ((1,),) * (1 + len(strides))


def _can_merge(dims: Dims, strides: Sequence[Dims]) -> bool:
    """Return whether `simplify_walk` removes any axis. Usually it removes none, and this is the fastest test."""
    if 1 in dims:
        return True
    for inner in range(1, len(dims)):
        size = dims[inner]
        for steps in strides:
            if steps[inner - 1] != steps[inner] * size:
                break
        else:
            return True
    return False


def simplify_strided(dims: Dims, src_strides: Dims, dst_strides: Dims) -> StridedWalk:
    """Simplify a walk over `dims`, none of size 0, in the order of descending dst_strides: see `simplify_walk`."""
    if [*dst_strides] != sorted(dst_strides, reverse=True):
        axes = sorted(zip(dims, src_strides, dst_strides, strict=True), key=itemgetter(2), reverse=True)
        dims, src_strides, dst_strides = zip(*axes, strict=True)
    return StridedWalk(*simplify_walk(dims, src_strides, dst_strides))
