"""ravel_multi_index: the indices along several axes as those of one, of which these axes are parts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ep.common.primitive.broadcast import Dims, broadcast_dims
from ep.include.arrays import Array, Arrays
from ep.include.data_type import DataType
from ep.include.errors import ArgumentIndexError
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.broadcast_elementwise_binary import BroadcastElementwiseBinaryFactory
from ep.include.primitive.cast import CastFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.ops.declare.function import Tensors, operator
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import Always
from ep.ops.indexed import for_indices
from ep.ops.indices import IndexMode, check_mode, resolved
from ep.ops.kernels import Calls, Launches, data_type, launching, primitive_exists
from ep.ops.sbp_signatures import PMAX, PMIN, B, broadcast_signatures, signature
from ep.ops.shapes import as_sizes, launch_dims
from ep.sbp import Problem, Signature

_INT64: Final = DataType.kInt64


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    return [broadcast_dims(*shapes, names=[f"multi_index[{k}]" for k in range(len(shapes))])]


def _signatures(problem: Problem) -> Iterator[Signature]:
    yield from broadcast_signatures(problem)
    if problem.attributes["mode"] != "wrap_negative":  # in the others, a larger index gives a larger one
        for partial in (PMAX, PMIN):
            for k in range(len(problem.shapes)):
                yield signature(*[B] * k, partial, *[B] * (len(problem.shapes) - k - 1), partial)


@operator(shape=_shape, dtype=Always(_INT64), signatures=_signatures)
def ravel_multi_index(multi_index: Tensors, dims: Any, mode: IndexMode = "raise") -> Attributes:
    """Return the indices of elements in a flattened array, as `numpy.ravel_multi_index`, in int64.

    multi_index: for each axis of the array its indices: integers of one type, whose shapes broadcast.
    dims: the shape of the array.
    mode: how an index out of range is handled: "raise", "wrap_negative" or "clip" of `gather`.
    out: where to put the result, an array of its shape and dtype.

    Raises TypeError for indices that are not integers, ValueError if dims has not as many sizes as there are indices,
    and for shapes that do not broadcast. IndexError gives the position; an asynchronous device raises it later, and the
    result is undefined.
    """
    check_mode(mode)
    if mode == "zero":
        raise ValueError("mode is 'zero'; it must be raise, wrap_negative or clip")
    sizes = as_sizes((dims,), "dims")
    if len(sizes) != len(multi_index):
        raise ValueError(f"dims has {len(sizes)} sizes; multi_index has {len(multi_index)} arrays")
    dtype = multi_index[0].dtype
    if dtype.kind not in "iu":
        raise TypeError(f"multi_index has dtype {dtype}; it must be an integer type")
    _shape([tuple(item.shape) for item in multi_index], {})
    return {"dims": sizes, "mode": mode}


_MUL, _ADD = (
    primitive_exists(BroadcastElementwiseBinaryFactory, op, _INT64, _INT64, kMaxNumDims)
    for op in (BinaryOp.kMul, BinaryOp.kAdd)
)
_CAST = for_indices(CastFactory, data_type("multi_index"), _INT64)


@launching("ravel_multi_index", _MUL, _ADD, _CAST)
def ravel_multi_index_kernel(calls: Calls, mul: Any, add: Any, cast: Any) -> Launches:
    """Return launches that check the indices of each axis, multiply those before by its size, and add them."""
    shapes, dims, mode, dtype = calls.shapes, calls.attributes["dims"], calls.attributes["mode"], _INT64.dtype
    wholes = [broadcast_dims(*shapes[: k + 1]) for k in range(len(shapes))]
    pairs = [launch_dims("ravel_multi_index", *pair) for pair in zip(wholes, shapes[1:], strict=False)]

    def checked(arrays: Arrays, k: int, indices: Array, out: Array | None) -> Array:
        """Return the indices of axis k in int64."""
        try:
            found = resolved(arrays, indices, dims[k], mode)
        except ArgumentIndexError as error:
            error.rename({"indices": f"multi_index[{k}]"})
            raise
        if found.dtype == dtype and out is None:
            return found
        result = arrays.empty(shapes[k], dtype) if out is None else out
        cast(found.dtype).Launch(arrays.stream, found, result, math.prod(shapes[k]))
        return result

    def launches(arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        total = checked(arrays, 0, inputs[0], None if len(inputs) > 1 else outputs[0])
        for k, ((a, b), whole) in enumerate(zip(pairs, wholes[1:], strict=True), 1):
            indices = checked(arrays, k, inputs[k], None)
            rows = arrays.empty(wholes[k - 1], dtype)
            mul.Launch(arrays.stream, a, total, (), dims[k], rows)
            total = outputs[0] if k == len(pairs) else arrays.empty(whole, dtype)
            add.Launch(arrays.stream, a, rows, b, indices, total)

    return launches
