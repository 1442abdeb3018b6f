"""softmax and log_softmax: normalised exponentials along an axis, and their logarithms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import RESULT, Placeholder
from ep.include.primitive.log_softmax import LogSoftmaxFactory
from ep.include.primitive.permute import PermuteFactory
from ep.include.primitive.softmax import SoftmaxFactory
from ep.include.primitive.structure import RowOp
from ep.ops.declare.function import FUNCTIONS, Tensor, operator
from ep.ops.declare.gradient import Rule
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.kernels import Calls, Launch, Plan, Temporary, data_type, launching, primitive_exists
from ep.ops.sbp_signatures import signature
from ep.ops.shapes import from_front
from ep.sbp import Problem, SbpSignature, Split


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> Sequence[Dims]:
    return shapes


def _signatures(problem: Problem) -> Iterator[SbpSignature]:
    for axis in range(len(problem.shapes[0])):
        if axis != problem.attributes["axis"]:
            yield signature(Split(axis), Split(axis))


def _resolved(x: Tensor, axis: Any) -> Attributes:
    num_dims = len(x.shape)
    if num_dims == 0:
        raise ValueError("x has no axes; one is needed")
    return {"axis": from_front(axis, "axis", num_dims, num_dims)}


def _gradient(name: str) -> Rule:
    """Return the rule, which is an operator of the result. name: of it."""
    return lambda back: [FUNCTIONS[name](dy=back.dy, y=back.output, axis=back.attributes["axis"])]


@operator(
    shape=_shape, dtype=SameAs("x"), signatures=_signatures, gradient=_gradient("softmax_grad"), joins=RowOp.kSoftmax
)
def softmax(x: Tensor, axis: int = -1) -> Attributes:
    """Return `exp(x)` divided by its sum along an axis, as `scipy.special.softmax`, without overflow.

    x: array of a floating type.
    axis: the axis, the last one by default; negative ones are counted from the last.
    out: where to put the result, an array of its shape and dtype; it may be x itself.

    A NaN or +inf, or only -inf, makes all results along the axis NaN. SciPy's function uses all axes by default.
    """
    return _resolved(x, axis)


@operator(
    shape=_shape,
    dtype=SameAs("x"),
    signatures=_signatures,
    gradient=_gradient("log_softmax_grad"),
    joins=RowOp.kLogSoftmax,
)
def log_softmax(x: Tensor, axis: int = -1) -> Attributes:
    """Return the logarithm of `softmax`, as `scipy.special.log_softmax`; it is accurate even if `softmax` rounds to 0.

    x, axis, out: as of `softmax`.
    """
    return _resolved(x, axis)


_PERMUTE = primitive_exists(PermuteFactory, 3)


def _softmax_kernel(calls: Calls, softmax: Any, permute: Any) -> Plan:
    """Return one launch, between two launches of Permute if the axis is not the last one."""
    (shape,), axis, dtype = calls.shapes, calls.attributes["axis"], calls.subject.data_types["x"].dtype
    outer, cols, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
    if inner == 1:
        return Plan(Launch(softmax, outer, cols, Placeholder(0), RESULT))

    turned = Temporary((outer, inner, cols), dtype)
    return Plan(
        Launch(permute, dtype, (outer, cols, inner), Placeholder(0), (0, 2, 1), turned),
        Launch(softmax, outer * inner, cols, turned, turned),
        Launch(permute, dtype, (outer, inner, cols), turned, (0, 2, 1), RESULT),
    )


_NAMES: dict[str, Any] = {"src": "x", "y": "out", "dst": "out", "cols": "x.shape", "rows": "x.shape"}
for _name, _factory in (("softmax", SoftmaxFactory), ("log_softmax", LogSoftmaxFactory)):
    _exists, _kernel = primitive_exists(_factory, data_type("x")), f"{_factory.primitive.__name__}Kernel"
    launching(_name, _exists, _PERMUTE, name=_kernel, **_NAMES)(_softmax_kernel)
