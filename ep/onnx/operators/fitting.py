"""Checks that the inputs and attributes of a node fit each other.

Errors name the argument as ONNX does, what came, and what it must be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ep.ops.shapes import check_broadcasts as check_broadcasts
from ep.ops.shapes import check_shape as check_shape
from ep.ops.shapes import from_front

NDArray = np.ndarray[Any, Any]


def axis_in(rank: int, axis: int, argument: str = "axis", end: int | None = None) -> int:
    """Return an axis of an array of `rank` axes, counted from the front; negative ones count from the last one.

    end: the first number that is no axis, `rank` by default.
    """
    return from_front(axis, argument, rank, rank if end is None else end)


def axes_given(axes: NDArray) -> list[int]:
    """Return the axes of an input `axes`; some models have a single one without an axis."""
    return numbers("axes", np.atleast_1d(axes))


def axes_in(rank: int, axes: Sequence[int]) -> list[int]:
    """Return different axes, counted from the front."""
    found = [axis_in(rank, axis, f"axes[{k}]") for k, axis in enumerate(axes)]
    if len({*found}) != len(found):
        raise ValueError(f"axes is {[*axes]}; each of the {rank} axes must be in it at most once")
    return found


def check(holds: bool, argument: str, came: Any, wanted: str) -> None:
    """Raise ValueError unless something holds: "ARGUMENT is CAME; it must be WANTED"."""
    if not holds:
        raise ValueError(f"{argument} is {came}; it must be {wanted}")


def check_each(argument: str, given: Sequence[int], count: int, least: int | None) -> None:
    """Raise ValueError unless an attribute has a number for each of some axes, `least` or more."""
    fits = len(given) == count and (least is None or min(given, default=least) >= least)
    check(fits, argument, [*given], f"{count} numbers{'' if least is None else f' of {least} or more'}")


def check_rank(argument: str, array: Any, *ranks: int, least: int = 0) -> None:
    """Raise ValueError unless an array has one of some numbers of axes, or at least a number if none is given."""
    rank = len(array.shape)
    if rank not in ranks if ranks else rank < least:
        wanted = " or ".join(map(str, ranks)) if ranks else f"at least {least}"
        raise ValueError(f"{argument} has shape {tuple(array.shape)}; it must have {wanted} axes")


def check_places(argument: str, array: Any, axes: Sequence[int]) -> None:
    """Raise ValueError for an array without elements along some axes, unless the others have none, either."""
    missing = [axis for axis in axes if array.shape[axis] == 0]
    if missing and 0 not in [size for axis, size in enumerate(array.shape) if axis not in axes]:
        raise ValueError(f"{argument} has shape {tuple(array.shape)}; it must have elements along axis {missing[0]}")


def check_within(argument: str, shape: Sequence[int], whole: Sequence[int], axis: int) -> None:
    """Raise ValueError unless an array has the axes of another one, and no more elements along all but one of them."""
    fits = len(shape) == len(whole) and all(k == axis or shape[k] <= size for k, size in enumerate(whole))
    if not fits:
        raise ValueError(
            f"{argument} has shape {tuple(shape)}; it must have {len(whole)} axes, and at most the elements of "
            f"{tuple(whole)} along all but axis {axis}"
        )


def number(argument: str, array: Any) -> Any:
    """Return the number that an array of one element has."""
    if array.size != 1:
        raise ValueError(f"{argument} has shape {array.shape}; it must have one element")
    return array.item()


def numbers(argument: str, array: NDArray, *counts: int) -> list[int]:
    """Return the integers of an array of one axis. counts: how many they may be, if this is known."""
    if array.ndim != 1 or (counts and len(array) not in counts):
        wanted = f" and {' or '.join(map(str, counts))} elements" if counts else ""
        raise ValueError(f"{argument} has shape {array.shape}; it must have one axis{wanted}")
    found: list[int] = array.tolist()
    return found
