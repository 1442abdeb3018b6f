"""The operators of two operands: one for each BinaryOp."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from ep.common.primitive.broadcast import Dims, broadcast_dims
from ep.include.arrays import RESULT, Array, ArrayLike, Operands, Placeholder
from ep.include.data_type import as_data_type
from ep.include.number_kind import COMPLEXES, FLOATS
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.broadcast_elementwise_binary import BroadcastElementwiseBinaryFactory
from ep.include.primitive.op_table import OPS
from ep.include.primitive.primitive import kMaxNumDims
from ep.ops.declare.function import FUNCTIONS, Operand, function_of
from ep.ops.declare.gradient import Backward, Gradients, Rule
from ep.ops.declare.inputs import Role
from ep.ops.declare.operator import Attributes, operator_named
from ep.ops.devices import arrays_of, with_scalars
from ep.ops.elementwise import add_kernel, declare_op
from ep.ops.elementwise_signatures import binary_signatures
from ep.ops.gradients import vjp
from ep.ops.kernels import Calls, Launch, Plan
from ep.ops.operands import as_operands, is_number
from ep.ops.shapes import launch_dims
from ep.ops.terms import conjugated, summed_to, unselected


def _binary_kernel(name: str, calls: Calls, binary: Any) -> Plan:
    """Return one launch of BroadcastElementwiseBinary. name: of the operator, for errors."""
    x_dims, y_dims = launch_dims(name, *calls.shapes)
    return Plan(Launch(binary, x_dims, Placeholder(0), y_dims, Placeholder(1), RESULT))


def _shape(names: tuple[str, ...], shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    x, y = shapes
    return [x if x == y else broadcast_dims(x, y, names=names)]


def _add_gradient(back: Backward) -> Gradients:
    return [summed_to(back.dy, one) for one in back.inputs]


def _sub_gradient(back: Backward) -> Gradients:
    x, y = back.inputs
    return [summed_to(back.dy, x), summed_to(FUNCTIONS["negative"](back.dy), y)]


def _mul_gradient(back: Backward) -> Gradients:
    x, y = back.inputs
    mul = FUNCTIONS["mul"]
    return [summed_to(mul(back.dy, conjugated(y)), x), summed_to(mul(back.dy, conjugated(x)), y)]


def _div_gradient(back: Backward) -> Gradients:
    x, y = back.inputs
    of_x = FUNCTIONS["div"](back.dy, conjugated(y))
    return [summed_to(of_x, x), summed_to(FUNCTIONS["negative"](FUNCTIONS["mul"](of_x, conjugated(back.output))), y)]


def _max_gradient(back: Backward) -> Gradients:
    return _selected(back, *back.inputs)


def _min_gradient(back: Backward) -> Gradients:
    x, y = back.inputs
    return _selected(back, y, x)


def _selected(back: Backward, x: Any, y: Any) -> Gradients:
    """Give the gradient to an operand if x, or y, is larger; equal operands have half of it each, NaN spreads."""
    where, greater, dy = FUNCTIONS["where"], FUNCTIONS["greater"], back.dy
    shared = where(FUNCTIONS["equal"](x, y), FUNCTIONS["mul"](dy, 0.5), math.nan)
    zero, larger = unselected(dy), (greater(x, y), greater(y, x))
    return [
        summed_to(where(here, dy, where(there, zero, shared)), one)
        for here, there, one in zip(larger, larger[::-1], back.inputs, strict=True)
    ]


def _pow_gradient(back: Backward) -> Gradients:
    """Return the gradients of x to the power of y; that of y is 0 if x is 0."""
    x, y = back.inputs
    mul, where = FUNCTIONS["mul"], FUNCTIONS["where"]
    zero = FUNCTIONS["add"](unselected(back.dy), unselected(back.output))
    of_x = where(FUNCTIONS["equal"](y, 0), zero, mul(mul(back.dy, y), FUNCTIONS["pow"](x, FUNCTIONS["sub"](y, 1))))
    of_y = where(FUNCTIONS["equal"](x, 0), zero, mul(mul(back.dy, back.output), FUNCTIONS["log"](x)))
    return [summed_to(of_x, x), summed_to(of_y, y)]


def _remainder_gradient(back: Backward) -> Gradients:
    """Return the gradients. The quotient follows from the remainder: x / y alone may be rounded to the next integer."""
    x, y = back.inputs
    times = FUNCTIONS["rint"](FUNCTIONS["div"](FUNCTIONS["sub"](x, back.output), y))
    return [summed_to(back.dy, x), summed_to(FUNCTIONS["negative"](FUNCTIONS["mul"](back.dy, times)), y)]


_GRADIENTS: Final[Mapping[BinaryOp, Rule]] = {
    BinaryOp.kAdd: _add_gradient,
    BinaryOp.kSub: _sub_gradient,
    BinaryOp.kMul: _mul_gradient,
    BinaryOp.kDiv: _div_gradient,
    BinaryOp.kMax: _max_gradient,
    BinaryOp.kMin: _min_gradient,
    BinaryOp.kPow: _pow_gradient,
    BinaryOp.kFmod: _remainder_gradient,
    BinaryOp.kFloorMod: _remainder_gradient,
}


for _op in BinaryOp:
    _names = OPS[_op].operands  # some have dy as their first operand
    _declared = declare_op(_op, Role.OPERAND, partial(_shape, _names), binary_signatures, _GRADIENTS.get(_op))
    _kernel, _in_errors = partial(_binary_kernel, _declared.name), {"src0": _names[0], "src1": _names[1], "dst": "out"}
    add_kernel(_op, BroadcastElementwiseBinaryFactory, _kernel, "BinaryKernel", kMaxNumDims, **_in_errors)


def _exact_operands(operands: Sequence[Any], names: tuple[str, ...]) -> tuple[Operands, Sequence[Array], Any]:
    """Read the operands of a division without truncation; TypeError for integers and bool."""
    arrays = arrays_of(operands, names)
    operands = with_scalars(arrays, operands)
    read: Sequence[Any] = [
        one if is_number(one) else arrays.as_buffer(one, name) for one, name in zip(operands, names, strict=True)
    ]
    _check_divisible(read, names)  # first, since no integer type holds a fraction
    read = as_operands(arrays, read[0], read[1], names)
    _check_divisible(read, names)
    return arrays, read, read


def _check_divisible(operands: Sequence[Any], names: Sequence[str]) -> None:
    """Raise TypeError for an array of integers or bool."""
    for one, name in zip(operands, names, strict=True):
        if not is_number(one) and as_data_type(one.dtype) not in FLOATS + COMPLEXES:
            raise TypeError(
                f"{name} has dtype {one.dtype}; x / y divides floating-point and complex numbers alone: use x // y, or "
                f"convert the integers, as by {name}.astype('float32') (ep.ops.div truncates)"
            )


@function_of(operator_named("div"), _exact_operands)
def true_divide(x: Operand, y: Operand) -> Attributes:
    """Return x / y, as `numpy.divide` and Python's `/`: `div` of floating-point and complex numbers.

    x, y: arrays of one dtype, float16, bfloat16, float32, float64, complex64 or complex128; a number gets the dtype of
        the other one.
    out: where to put the result, an array of its shape and dtype.

    Raises TypeError for integers and bool, whose quotients have other types: `floor_div` rounds them down, `div`
    truncates.
    """
    return {}


FUNCTIONS["divide"] = true_divide


def _binary_grad(name: str) -> Callable[..., list[Any]]:
    def function(dy: ArrayLike, x: ArrayLike, y: ArrayLike) -> list[Any]:
        return vjp(name, (x, y), {}, None, dy)

    function.__name__ = function.__qualname__ = f"{name}_grad"
    function.__doc__ = f"""Return the gradients of `{name}` by x and y, each summed over what was broadcast in it.

    dy: the gradient by the result, of its shape and dtype. x, y: what {name} was given.
    """
    return function


for _name in ("add", "sub", "mul", "div", "maximum", "minimum", "pow"):
    FUNCTIONS[f"{_name}_grad"] = _binary_grad(_name)
