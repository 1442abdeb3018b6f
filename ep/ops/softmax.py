"""softmax and log_softmax: normalised exponentials along an axis, and their logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import RESULT, Placeholder
from ep.include.primitive.log_softmax import LogSoftmaxFactory
from ep.include.primitive.permute import PermuteFactory
from ep.include.primitive.primitive import Factory
from ep.include.primitive.softmax import SoftmaxFactory
from ep.include.primitive.structure import RowOp
from ep.ops.declare.function import FUNCTIONS, Tensor, operator
from ep.ops.declare.gradient import Rule
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.kernels import Calls, Launch, Plan, Temporary, data_type, launching, primitive_exists
from ep.ops.sbp_signatures import signatures_beside
from ep.ops.shapes import around, axis_of


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> Sequence[Dims]:
    return shapes


def _gradient(name: str) -> Rule:
    """Return the rule, which is an operator of the result. name: of it."""
    return lambda back: [FUNCTIONS[name](dy=back.dy, y=back.output, axis=back.attributes["axis"])]


@operator(
    shape=_shape,
    dtype=SameAs("x"),
    signatures=signatures_beside,
    gradient=_gradient("softmax_grad"),
    joins=RowOp.kSoftmax,
)
def softmax(x: Tensor, axis: int = -1) -> Attributes:
    """Return `exp(x)` divided by its sum along an axis, as `scipy.special.softmax`, without overflow.

    x: array of a floating type.
    axis: the axis, the last one by default; negative ones are counted from the last.
    out: where to put the result, an array of its shape and dtype; it may be x itself.

    A NaN or +inf, or only -inf, makes all results along the axis NaN. SciPy's function uses all axes by default.
    """
    return {"axis": axis_of(x, "x", axis)}


@operator(
    shape=_shape,
    dtype=SameAs("x"),
    signatures=signatures_beside,
    gradient=_gradient("log_softmax_grad"),
    joins=RowOp.kLogSoftmax,
)
def log_softmax(x: Tensor, axis: int = -1) -> Attributes:
    """Return the logarithm of `softmax`, as `scipy.special.log_softmax`; it is accurate even if `softmax` rounds to 0.

    x, axis, out: as of `softmax`.
    """
    return {"axis": axis_of(x, "x", axis)}


def _row_kernel(operands: Sequence[str], calls: Calls, of_rows: Any, permute: Any) -> Plan:
    """Return one launch; if the axis is not the last one, Permute moves it there and back."""
    dtype = calls.subject.data_types[operands[0]].dtype
    outer, cols, inner = around(calls.shapes[0], calls.attributes["axis"])
    given = [Placeholder(k) for k in range(len(operands))]
    if inner == 1:
        return Plan(Launch(of_rows, outer, cols, *given, RESULT))
    turned = [Temporary((outer, inner, cols), dtype) for _ in operands]
    return Plan(
        *(
            Launch(permute, dtype, (outer, cols, inner), one, (0, 2, 1), to, names={"src": name})
            for name, one, to in zip(operands, given, turned, strict=True)
        ),
        Launch(of_rows, outer * inner, cols, *turned, turned[-1]),
        Launch(permute, dtype, (outer, inner, cols), turned[-1], (0, 2, 1), RESULT),
    )


def launching_by_rows(name: str, factory: type[Factory[Any]], operands: Sequence[str], result: str) -> None:
    """Register the kernel of an operator along an axis, whose primitive has these operands and this result."""
    exists, kernel = primitive_exists(factory, data_type(operands[0])), f"{factory.primitive.__name__}Kernel"
    names: dict[str, Any] = dict.fromkeys(("rows", "cols"), f"{operands[0]}.shape") | {result: "out", "dst": "out"}
    launching(name, exists, primitive_exists(PermuteFactory, 3), name=kernel, **names)(partial(_row_kernel, operands))


launching_by_rows("softmax", SoftmaxFactory, ("x",), "y")
launching_by_rows("log_softmax", LogSoftmaxFactory, ("x",), "y")
