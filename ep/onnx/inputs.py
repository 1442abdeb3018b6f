"""The inputs of a model, and the check of the arrays that a run gets for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import repeat
from operator import index, itemgetter
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.arrays.checks import is_weak
from ep.common.arrays.on_device import arrays_of_type
from ep.include.arrays import Arrays
from ep.include.errors import ArgumentTypeError
from ep.include.process import exclusively
from ep.include.shown import shape_in_words, shown
from ep.include.suggest import did_you_mean

OF_SIZES: Final = TypeError, ValueError, IndexError, NotImplementedError
"""The errors of sizes that do not fit."""


class ValueInfo(NamedTuple):
    """An input or an output of a model; shape: sizes, the names of free sizes, None for unknown ones or an unknown
    shape."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int | str | None, ...] | None

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype} {shape_in_words(self.shape)}"


class Sized(NamedTuple):
    """What operators that use only shapes read of an array, and what is known of one before there is one."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, array: Any) -> Sized:
        """Return the shape and the dtype of an array of any device."""
        return cls(tuple(array.shape), np.dtype(array.dtype))


def checked(base: Arrays, signatures: Sequence[ValueInfo], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of a run, by name, in the form that `on_device` accepts.

    Raises TypeError or ValueError for missing, unknown and unsuitable ones.
    """
    check_known("input", inputs, signatures)
    if missing := [one.name for one in signatures if one.name not in inputs]:
        verb = "is" if len(missing) == 1 else "are"
        raise ValueError(f"inputs: {', '.join(missing)} {verb} missing; the model takes {_listed(signatures)}")
    given = {one.name: _buffer(base, one, inputs[one.name]) for one in signatures}
    _check_all(signatures, given)
    return given


def of_shapes(signatures: Sequence[ValueInfo], shapes: Mapping[str, Any]) -> dict[str, Sized]:
    """Return the inputs of a run with given shapes, or with the shapes of given arrays, by name.

    Shapes are required for inputs with free sizes. Raises ValueError for missing, unknown and unsuitable ones, and
    TypeError for what is no shape.
    """
    check_known("input", shapes, signatures)
    given = {}
    for one in signatures:
        own = one.shape if one.shape is not None and all(isinstance(size, int) for size in one.shape) else None
        shape: Any = shapes.get(one.name, own)
        if shape is None:
            raise ValueError(f"{one.name} has free sizes, {one.shape}; give its shape")
        given[one.name] = Sized(_sizes(one.name, getattr(shape, "shape", shape)), one.dtype)
    _check_all(signatures, given)
    return given


def assumed(signatures: Sequence[ValueInfo], shapes: Mapping[str, Any]) -> Iterator[dict[str, Sized]]:
    """Yield the inputs of runs, as `of_shapes` returns them, which has the errors. Free sizes are assumed, in several
    ways; without any, there is one run.

    shapes: of inputs, or arrays that have them, by name.
    """
    own = {one.name: one.shape for one in signatures if one.shape is not None and one.name not in shapes}
    of_batches = {shape[0] for shape in own.values() if shape}
    for batch, other in _ASSUMED:
        made = {
            name: tuple(
                k if isinstance(k, int) else batch if axis == 0 or (k and k in of_batches) else other
                for axis, k in enumerate(shape)
            )
            for name, shape in own.items()
        }
        yield of_shapes(signatures, {**made, **shapes})
        if made == own:
            break


_ASSUMED: Final = (64, 64), (1, 64), (1, 1024), (1, 1)
"""Sizes of batches, and of sentences, images and sounds. With 1 there may be less to compute, so it is last."""


def _sizes(name: str, shape: Any) -> tuple[int, ...]:
    """Return a shape; raises TypeError for what is not a sequence of integers, ValueError for sizes below 0."""
    try:
        found = tuple(map(index, shape))
    except TypeError:
        raise TypeError(f"{name} is {shown(shape)}; it must be a shape, or an array") from None
    if min(found, default=0) < 0:
        raise ValueError(f"{name} is {shown(shape)}; sizes must not be below 0")
    return found


def by_name(signatures: Sequence[ValueInfo], given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given for the first inputs, in their order, and for others by name: all by name.

    Raises TypeError for more of them than the model has inputs, and for an input that is given twice.
    """
    if len(given) > len(signatures):
        raise TypeError(
            f"inputs: {len(given)} are given by position; the model takes {len(signatures)}: {_listed(signatures)}"
        )
    found: dict[str, Any] = dict(zip(map(itemgetter(0), signatures), given, strict=False))
    for name, value in found.items():
        if name in named:
            raise TypeError(f"input {name} is given twice, by position and by name")
        if type(value) is not np.ndarray and isinstance(value, Mapping):
            raise TypeError(f"input {name} is a {type(value).__qualname__}; give inputs by name as model(**inputs)")
    return found | {**named}


def as_names(outputs: Any, signatures: Sequence[ValueInfo]) -> tuple[str, ...]:
    """Return the names of the outputs that a run gives; TypeError for what is not a sequence of names."""
    if not isinstance(outputs, str | bytes) and isinstance(outputs, Iterable):
        found = tuple(outputs)
        if all(map(isinstance, found, repeat(str))):
            return found
    given, known = f"outputs is {shown(outputs)} ({type(outputs).__qualname__})", [one.name for one in signatures]
    hint = ""
    if isinstance(outputs, str):
        hint = f"; did you mean [{outputs!r}]?" if outputs in known else did_you_mean(outputs, known)
    raise TypeError(
        f"{given}; it must be a sequence of names, or None for all outputs; the model has {_listed(signatures)}{hint}"
    )


def check_mapping(inputs: Any, signatures: Sequence[ValueInfo]) -> None:
    """Raise TypeError for inputs of a run that are not given by name."""
    if not isinstance(inputs, Mapping):
        raise TypeError(
            f"inputs is of type {type(inputs).__qualname__}; it must be a mapping of names to arrays; the model takes "
            f"{_listed(signatures)} (model(x) takes arrays in this order)"
        )


def check_known(kind: str, names: Iterable[str], signatures: Sequence[ValueInfo]) -> None:
    """Raise ValueError for names of inputs or outputs that the model does not have. kind: "input" or "output"."""
    known = [one.name for one in signatures]
    if unknown := sorted(map(str, {*names}.difference(known))):
        suggestion = did_you_mean(unknown[0], [name for name in known if name not in names])
        raise ValueError(f"{kind}s: the model has no {', '.join(unknown)}; it has {_listed(signatures)}{suggestion}")


def _listed(some: Sequence[ValueInfo]) -> str:
    return ", ".join(one.name for one in some) or "none"


def _buffer(base: Arrays, signature: ValueInfo, value: Any) -> Any:
    """Return an input as an array with a shape and a dtype of NumPy, which `on_device` makes a buffer."""
    argument, dtype = f"input {signature.name}", getattr(value, "dtype", None)
    _check_dtype(signature, dtype)
    if type(value) is np.ndarray:  # `ep.ops` is not imported for it
        return base.as_buffer(value, argument) if base.takes_host_arrays else np.asarray(value, signature.dtype)
    if is_weak(value):
        return exclusively(lambda: import_module("ep.ops.operands")).as_weak(value, signature.dtype, argument)
    if is_array_of(base, value):
        return value if isinstance(dtype, np.dtype) else base.as_buffer(value, argument)
    arrays = exclusively(lambda: import_module("ep.ops.devices")).arrays_of((value,), (argument,))
    if arrays.place == base.place or getattr(arrays, "takes_host_arrays", False):
        made = arrays.as_buffer(value, argument)
        if isinstance(value, list | tuple) and made.dtype != signature.dtype:
            how = f"give numpy.asarray({signature.name}, {signature.dtype.name!r})"
            words = f"is a {type(value).__name__}, of dtype {made.dtype} as an array; it must be"
            raise ArgumentTypeError(argument, f"{words} {signature.dtype}: {how}")
        return made
    raise TypeError(f"{argument} ({type(value).__qualname__}) is on {arrays.place}; the model is on {base.place}")


def is_array_of(base: Arrays, value: Any) -> bool:
    """Return whether a value is an array of a device that has memory of its own, and of the type of `base`."""
    if base.takes_host_arrays:
        return False
    devices = arrays_of_type(base.device_type)
    return devices is not None and devices.recognises(value)


def _check_dtype(signature: ValueInfo, dtype: Any) -> None:
    """Raise TypeError for another dtype; arrays of other libraries may have types of their own, which are not read."""
    if isinstance(dtype, np.dtype) and dtype.newbyteorder("=") != signature.dtype:
        raise TypeError(f"input {signature.name} has dtype {dtype}; it must be {signature.dtype}")


def _check_all(signatures: Sequence[ValueInfo], given: Mapping[str, Any]) -> None:
    """Raise TypeError or ValueError for arrays, or their shapes and types, that the model does not accept."""
    sizes: dict[str, tuple[int, str]] = {}
    for one in signatures:
        _check(one, given[one.name], sizes)


def _check(signature: ValueInfo, array: Any, sizes: dict[str, tuple[int, str]]) -> None:
    """Raise TypeError or ValueError for an array that the model does not accept; sizes: the values of named sizes."""
    name, _, shape = signature
    _check_dtype(signature, np.dtype(array.dtype))
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
