"""The operators of two operands: one for each BinaryOp."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from ep.common.primitive.broadcast import Dims, broadcast_dims
from ep.include.arrays import RESULT, Array, Operands, Placeholder
from ep.include.data_type import as_data_type
from ep.include.number_kind import COMPLEXES, FLOATS
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.broadcast_elementwise_binary import BroadcastElementwiseBinaryFactory
from ep.include.primitive.op_table import OPS
from ep.include.primitive.primitive import kMaxNumDims
from ep.ops.declare.function import FUNCTIONS
from ep.ops.declare.inputs import Role
from ep.ops.declare.operator import Attributes
from ep.ops.devices import arrays_of, with_scalars
from ep.ops.elementwise import OpOperator
from ep.ops.elementwise_signatures import binary_signatures
from ep.ops.kernels import Calls, Launch, Launches, Plan
from ep.ops.operands import as_operands, is_number
from ep.ops.shapes import launch_dims


def _binary_kernel(name: str, calls: Calls, binary: Any) -> Launches:
    """Return one launch of BroadcastElementwiseBinary. name: of the operator, for errors."""
    x_dims, y_dims = launch_dims(name, *calls.shapes)
    return Plan(Launch(binary, x_dims, Placeholder(0), y_dims, Placeholder(1), RESULT))


def _shape(names: tuple[str, ...], shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    x, y = shapes
    return [x if x == y else broadcast_dims(x, y, names=names)]


def _declare(op: BinaryOp) -> OpOperator:
    """Declare the operator of `op`, whose function is `f(x, y, <attributes>, *, out=None)`, and return it.

    Some functions have dy as their first operand.
    """
    operator = OpOperator(op, Role.OPERAND, partial(_shape, OPS[op].operands), binary_signatures)
    names, kernel = operator.parameters.operands, partial(_binary_kernel, operator.declared.name)
    in_errors = {"src0": names[0], "src1": names[1], "dst": "out"}
    operator.add_kernel(BroadcastElementwiseBinaryFactory, kernel, "BinaryKernel", kMaxNumDims, **in_errors)

    def read(operands: Sequence[Any]) -> tuple[Operands, Sequence[Array]]:
        arrays = arrays_of(operands, names)
        x, y = operands
        return arrays, as_operands(arrays, x, y, names)

    operator.add_function(read)
    return operator


_OPERATORS: Final = {op: _declare(op) for op in BinaryOp}


def _exact_operands(operands: Sequence[Any]) -> tuple[Operands, Sequence[Array]]:
    """Read the operands of a division without truncation; TypeError for integers and bool."""
    arrays = arrays_of(operands, _XY)
    operands = with_scalars(arrays, operands)
    read: Sequence[Any] = [
        one if is_number(one) else arrays.as_buffer(one, name) for one, name in zip(operands, _XY, strict=True)
    ]
    _check_divisible(read)  # first, since no integer type holds a fraction
    read = as_operands(arrays, read[0], read[1], _XY)
    _check_divisible(read)
    return arrays, read


def _check_divisible(operands: Sequence[Any]) -> None:
    """Raise TypeError for an array of integers or bool."""
    for one, name in zip(operands, _XY, strict=True):
        if not is_number(one) and as_data_type(one.dtype) not in FLOATS + COMPLEXES:
            raise TypeError(
                f"{name} has dtype {one.dtype}; x / y divides floating-point and complex numbers alone: use x // y, or "
                f"convert the integers, as by {name}.astype('float32') (ep.ops.div truncates)"
            )


_XY: Final = OPS[BinaryOp.kDiv].operands
_TRUE_DIVIDE: Final = """Return x / y, as `numpy.divide` and Python's `/`: `div` of floating-point and complex numbers.

x, y: arrays of one dtype, float16, bfloat16, float32, float64, complex64 or complex128; a number gets the dtype of the
    other one.
out: where to put the result, an array of its shape and dtype.

Raises TypeError for integers and bool, whose quotients have other types: `floor_div` rounds them down, `div` truncates.
"""
FUNCTIONS.add("divide", lambda: FUNCTIONS["true_divide"])
FUNCTIONS.add("true_divide", lambda: _OPERATORS[BinaryOp.kDiv].function("true_divide", _exact_operands, _TRUE_DIVIDE))
