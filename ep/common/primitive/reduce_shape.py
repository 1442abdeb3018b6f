"""The checked dims and axes of a Reduce, the same on every device."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ep.common.checks import as_dims, as_integer_list
from ep.common.primitive.broadcast import Dims
from ep.include.errors import Argument, ArgumentValueError
from ep.include.primitive.reduce_op import EXTREMES, ReduceOp


class Axis(NamedTuple):
    """An axis of a simplified src: its size, and whether it is reduced."""

    size: int
    reduced: bool


class ReduceShape(NamedTuple):
    """The dims of src, and the reduced axes: the arguments of `Launch`, as tuples."""

    src_dims: Dims
    axes: tuple[int, ...]

    def dst_dims(self) -> Dims:
        """Return the dims of dst: those of the axes that are not reduced."""
        gone = self._gone()
        return tuple([size for axis, size in enumerate(self.src_dims) if axis not in gone])

    def counts(self) -> tuple[int, int]:
        """Return the numbers of elements of src and dst."""
        return math.prod(self.src_dims), math.prod(self.dst_dims())

    def simplified(self) -> tuple[Axis, ...]:
        """Return the axes of src, which is not empty, as few as possible: reduced ones and kept ones alternate.

        Axes of size 1 are removed, and neighbours of one kind are merged: `(2, 1, 3, 5, 7)` along `(2, 3)` is 2, 15
        (reduced), 7. If no axis is left, there is one of size 1 that is kept.
        """
        gone, kept = self._gone(), list[Axis]()
        for axis, size in enumerate(self.src_dims):
            reduced = axis in gone
            if size == 1:
                continue
            if kept and kept[-1].reduced is reduced:
                kept[-1] = Axis(kept[-1].size * size, reduced)
            else:
                kept.append(Axis(size, reduced))
        return tuple(kept) or (Axis(1, False),)

    def _gone(self) -> set[int]:
        return {axis % len(self.src_dims) for axis in self.axes}


def as_reduce_shape(src_dims: Any, axes: Any, max_num_dims: int | None) -> ReduceShape:
    """Return the checked arguments of `Launch`. Raises the errors of the contract, which name the argument."""
    dims, taken = as_dims(src_dims, "src_dims", max_num_dims or 0), as_integer_list(axes, "axes")
    for position, axis in enumerate(taken):
        if not -len(dims) <= axis < len(dims):
            raise ArgumentValueError(
                f"axes[{position}]", f"is {axis};", Argument("src_dims"), f"{dims} has {len(dims)} axes"
            )
    if len({axis % len(dims) for axis in taken}) < len(taken):
        raise ArgumentValueError("axes", taken, "name an axis of", Argument("src_dims"), dims, "twice")
    return ReduceShape(dims, taken)


def check_reduces_something(op: ReduceOp, shape: ReduceShape) -> None:
    """Raise ValueError if elements of dst are the minimum or maximum of no elements."""
    num_src, num_dst = shape.counts()
    if num_dst and not num_src and op in EXTREMES:
        raise ArgumentValueError(
            "src_dims",
            f"{shape.src_dims} has no elements along",
            Argument("axes"),
            f"{shape.axes}; a {op.name.removeprefix('k').lower()}imum of none does not exist",
        )


def of_nothing(op: ReduceOp) -> float:
    """Return the result of `op` for no elements, in any type that has it. kMin and kMax have none."""
    return {ReduceOp.kProd: 1, ReduceOp.kAll: 1, ReduceOp.kMean: math.nan}.get(op, 0)
