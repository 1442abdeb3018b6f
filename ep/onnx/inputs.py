"""The inputs of a model, and the check of the arrays that a run gets for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class Signature(NamedTuple):
    """An input or an output of a model; shape: sizes, the names of free sizes, None for unknown ones or an unknown
    shape."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int | str | None, ...] | None


class Sized(NamedTuple):
    """What operators that use only shapes read of an array, and what is known of one before there is one."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, array: Any) -> Sized:
        """Return the shape and the dtype of an array of any device."""
        return cls(tuple(array.shape), np.dtype(array.dtype))


def checked(signatures: Sequence[Signature], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of a run, by name; raises TypeError or ValueError for missing, unknown and unsuitable ones."""
    names = {one.name for one in signatures}
    if missing := names - {*inputs}:
        raise ValueError(f"inputs: {', '.join(sorted(missing))} is missing; the model takes {listed(signatures)}")
    if surplus := {*inputs} - names:
        raise ValueError(f"inputs: the model has no {', '.join(sorted(surplus))}; it takes {listed(signatures)}")
    sizes: dict[str, tuple[int, str]] = {}
    found = {}
    for one in signatures:
        array = inputs[one.name]
        array = array if hasattr(array, "shape") and hasattr(array, "dtype") else np.asarray(array)
        _check(one, array, sizes)
        found[one.name] = array
    return found


def of_shapes(signatures: Sequence[Signature], shapes: Mapping[str, Sequence[int]]) -> dict[str, Sized]:
    """Return the inputs of a run with given shapes, by name.

    Shapes are required for inputs with free sizes. Raises ValueError for missing, unknown and unsuitable ones.
    """
    known = {name: tuple(shape) for name, shape in shapes.items()}
    given = {}
    for one in signatures:
        own = one.shape if one.shape is not None and all(isinstance(size, int) for size in one.shape) else None
        shape: Any = known.pop(one.name, own)
        if shape is None:
            raise ValueError(f"{one.name} has free sizes, {one.shape}; give its shape")
        given[one.name] = Sized(shape, one.dtype)
    if known:
        raise ValueError(f"the model has no input {', '.join(known)}; it takes {listed(signatures)}")
    return checked(signatures, given)


def listed(some: Sequence[Signature]) -> str:
    """Return the names of inputs or outputs, for errors."""
    return ", ".join(one.name for one in some) or "none"


def _check(signature: Signature, array: Any, sizes: dict[str, tuple[int, str]]) -> None:
    """Raise TypeError or ValueError for an array that the model does not accept; sizes: the values of named sizes."""
    name, dtype, shape = signature
    if np.dtype(array.dtype) != dtype:
        raise TypeError(f"input {name} has dtype {array.dtype}; it must be {dtype}")
    if shape is None:
        return
    if len(shape) != len(array.shape):
        raise ValueError(f"input {name} has shape {tuple(array.shape)}; it must have {len(shape)} axes, {shape}")
    for axis, (size, wanted) in enumerate(zip(array.shape, shape, strict=True)):
        if isinstance(wanted, str):
            before, where = sizes.setdefault(wanted, (size, f"axis {axis} of {name}"))
            if before != size:
                raise ValueError(
                    f"input {name} has {size} elements along axis {axis}; {where} has {before}, and both are {wanted}"
                )
        elif wanted is not None and wanted != size:
            raise ValueError(f"input {name} has shape {tuple(array.shape)}; it must be {shape}")
