"""Checks of the buffers of a launch, with the same messages on all devices."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

from ep.include.data_type import DataType
from ep.include.errors import Argument, ArgumentTypeError, ArgumentValueError

T = TypeVar("T")


def check_plain(value: Any, argument: str) -> None:
    """Raise an error for an array whose memory does not hold its elements as they are. Values that are not arrays pass.

    Raises TypeError for an array with a mask, ValueError for a PyTorch tensor that is conjugated or negated lazily.
    """
    if is_masked_array(value) or _has_mask(value):
        raise ArgumentTypeError(argument, "has a mask, which would be lost; fill the masked elements first")
    for mark, what in (("is_conj", "conjugated"), ("is_neg", "negated")):
        is_marked = getattr(value, mark, None)
        if callable(is_marked) and is_marked():
            raise ArgumentValueError(
                argument, f"is a tensor that is {what} lazily; call resolve_conj().resolve_neg() first"
            )


def is_masked_array(value: Any) -> bool:
    """Return whether a value is an array of `numpy.ma`.

    Does not import it: an array of it exists only after its import.
    """
    return isinstance(value, getattr(sys.modules.get("numpy.ma"), "MaskedArray", ()))


def _has_mask(value: Any) -> bool:
    with suppress(Exception):  # each library has errors of its own for arrays without an interface
        return value.__cuda_array_interface__.get("mask") is not None
    return False


def check_class(value: Any, kind: type[T], argument: str, what: str) -> T:
    """Return an argument; TypeError if it is not of a class, such as that of a device's buffers. what: it in words."""
    if not isinstance(value, kind):
        raise ArgumentTypeError(argument, f"must be {what}, not {value!r}")
    return value


def check_dtype(argument: str, dtype: np.dtype[Any], data_type: DataType) -> None:
    """Raise TypeError for elements of another type than `data_type`."""
    if dtype != data_type.dtype and not _is_unnamed_bfloat16(dtype, data_type):
        raise ArgumentTypeError(
            argument, f"has dtype {dtype}; this primitive takes {data_type.dtype} ({data_type.name})"
        )


def check_no_objects(argument: str, dtype: np.dtype[Any]) -> None:
    """Raise TypeError for elements that are Python objects: their bytes are counted references."""
    if dtype.hasobject:
        raise ArgumentTypeError(
            argument, f"has dtype {dtype}, whose elements are Python objects; they have no bytes to copy"
        )


def check_bytes(argument: str, num_bytes: int, needed: int) -> None:
    """Raise ValueError if a buffer has fewer bytes than needed."""
    if num_bytes < needed:
        raise ArgumentValueError(argument, f"has {num_bytes} bytes; at least {needed} are needed")


def check_size(argument: str, num_elements: int, needed: int) -> None:
    """Raise ValueError if a buffer has fewer elements than needed."""
    if num_elements < needed:
        raise ArgumentValueError(argument, f"has {num_elements} elements; at least {needed} are needed")


def check_overlap(
    dst: int, dst_bytes: int, dst_argument: str, src: int, src_bytes: int, src_argument: str, *, in_place: bool = False
) -> None:
    """Raise ValueError if the used parts of two buffers, given by address and bytes, share memory.

    in_place: the two may be exactly the same memory, since each element is read and written at the same place.
    """
    if dst >= src + src_bytes or src >= dst + dst_bytes:
        return
    if (dst, dst_bytes) != (src, src_bytes):
        raise ArgumentValueError(dst_argument, "overlaps", Argument(src_argument))
    if not in_place:
        raise ArgumentValueError(
            dst_argument, "is the memory of", Argument(src_argument), "and this launch cannot work in place"
        )


def _is_unnamed_bfloat16(dtype: np.dtype[Any], data_type: DataType) -> bool:
    """Return whether this is bfloat16 from an interface that cannot name it, such as a `.npy` file: two raw bytes."""
    return data_type is DataType.kBFloat16 and (dtype.kind, dtype.itemsize, dtype.names) == ("V", 2, None)
