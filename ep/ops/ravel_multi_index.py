"""ravel_multi_index: the indices along several axes as those of one, of which these axes are parts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ep.common.primitive.broadcast import Dims, broadcast_dims
from ep.include.arrays import RESULT, Placeholder
from ep.include.data_type import DataType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.broadcast_elementwise_binary import BroadcastElementwiseBinaryFactory
from ep.include.primitive.cast import CastFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.ops.declare.function import Tensors, operator
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import Always
from ep.ops.indexed import checked, for_indices
from ep.ops.indices import IndexMode, check_mode
from ep.ops.kernels import Calls, Launch, Plan, Temporary, Value, data_type, launching, primitive_exists
from ep.ops.sbp_signatures import PMAX, PMIN, B, broadcast_signatures, signature
from ep.ops.shapes import as_sizes, launch_dims
from ep.sbp import Problem, SbpSignature

_INT64: Final = DataType.kInt64


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    return [broadcast_dims(*shapes, names=[f"multi_index[{k}]" for k in range(len(shapes))])]


def _signatures(problem: Problem) -> Iterator[SbpSignature]:
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
def ravel_multi_index_kernel(calls: Calls, mul: Any, add: Any, cast: Any) -> Plan:
    """Return launches that check the indices of each axis, multiply those before by its size, and add them."""
    shapes, dims, mode, dtype = calls.shapes, calls.attributes["dims"], calls.attributes["mode"], _INT64.dtype
    given, steps = calls.subject.data_types["multi_index"].dtype, list[Any]()

    def add_check(k: int, target: Value | None) -> Value:
        """Add the check of the indices of axis k; return them in int64."""
        names = {"indices": f"multi_index[{k}]"}
        checks, found, of_found = checked(Placeholder(k), given, shapes[k], dims[k], mode, names)
        steps.extend(checks)
        if of_found == dtype and target is None:
            return found
        result = Temporary(shapes[k], dtype) if target is None else target
        steps.append(Launch(cast(of_found), found, result, math.prod(shapes[k])))
        return result

    total, before = add_check(0, None if len(shapes) > 1 else RESULT), shapes[0]
    for k in range(1, len(shapes)):
        a, b = launch_dims("ravel_multi_index", before, shapes[k])
        indices, rows = add_check(k, None), Temporary(before, dtype)
        steps.append(Launch(mul, a, total, (), dims[k], rows))
        before = broadcast_dims(before, shapes[k])
        total = RESULT if k + 1 == len(shapes) else Temporary(before, dtype)
        steps.append(Launch(add, a, rows, b, indices, total))
    return Plan(*steps)
