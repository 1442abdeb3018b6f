"""softmax_grad and log_softmax_grad: the gradients of both, computed from their results."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Iterator, Sequence
from typing import Any

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import RESULT, Placeholder
from ep.include.primitive.log_softmax_backward import LogSoftmaxBackwardFactory
from ep.include.primitive.permute import PermuteFactory
from ep.include.primitive.softmax_backward import SoftmaxBackwardFactory
from ep.include.primitive.structure import RowOp
from ep.ops.declare.calls import Function
from ep.ops.declare.function import FUNCTIONS, Tensor, operator
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.kernels import Calls, Launch, Plan, Temporary, data_type, launching, primitive_exists
from ep.ops.sbp_signatures import B, P, signature
from ep.ops.shapes import from_front
from ep.sbp import Problem, SbpSignature, Split


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> Sequence[Dims]:
    return shapes[:1]


def _signatures(problem: Problem) -> Iterator[SbpSignature]:
    for axis in range(len(problem.shapes[0])):
        if axis != problem.attributes["axis"]:
            yield signature(Split(axis), Split(axis), Split(axis))
    yield signature(B, P, P)


def _resolved(y: Tensor, dy: Tensor, axis: Any) -> Attributes:
    if y.dtype != dy.dtype:
        raise TypeError(f"y has dtype {y.dtype}, dy has {dy.dtype}; convert one of them")
    if tuple(y.shape) != tuple(dy.shape):
        raise ValueError(f"y has shape {tuple(y.shape)}, dy has {tuple(dy.shape)}; they must be equal")
    if not y.shape:
        raise ValueError("y has no axes; one is needed")
    return {"axis": from_front(axis, "axis", len(y.shape), len(y.shape))}


@operator(shape=_shape, dtype=SameAs("y"), signatures=_signatures, joins=RowOp.kSoftmaxBackward)
def softmax_grad(y: Tensor, dy: Tensor, axis: int = -1) -> Attributes:
    """Return the gradient of `softmax`: `(dy - sum(y * dy)) * y`, the sum along the axis.

    dy: the gradient with respect to the result of softmax. y: that result, of its shape and dtype; both by name.
    axis: that of softmax.
    out: where to put the result, an array of its shape and dtype.
    """
    return _resolved(y, dy, axis)


@operator(shape=_shape, dtype=SameAs("y"), signatures=_signatures, joins=RowOp.kLogSoftmaxBackward)
def log_softmax_grad(y: Tensor, dy: Tensor, axis: int = -1) -> Attributes:
    """Return the gradient of `log_softmax`: `dy - exp(y) * sum(dy)`, the sum along the axis.

    dy: the gradient with respect to the result of log_softmax. y: that result; both by name.
    axis, out: as of `softmax_grad`.
    """
    return _resolved(y, dy, axis)


def _by_name(function: Function) -> Function:
    """Return a function of operands given by name alone: no error would show that dy and y are exchanged."""
    name = function.__name__

    @functools.wraps(function)
    def by_name(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise TypeError(f"{name} takes all arguments by name, {name}(dy=dy, y=y), and {len(args)} by position came")
        y, dy = kwargs.pop("y", function), kwargs.pop("dy", function)
        if y is function or dy is function:
            raise TypeError(f"{name} needs {' and '.join(n for n, one in (('dy', dy), ('y', y)) if one is function)}")
        return function(y, dy, **kwargs)

    signature = inspect.signature(function)
    y, dy, *rest = (one.replace(kind=one.KEYWORD_ONLY) for one in signature.parameters.values())
    by_name.__signature__ = signature.replace(parameters=[dy, y, *rest])  # type: ignore[attr-defined]
    return by_name


for _name in ("softmax_grad", "log_softmax_grad"):
    globals()[_name] = FUNCTIONS[_name] = _by_name(FUNCTIONS[_name])

_PERMUTE = primitive_exists(PermuteFactory, 3)


def _softmax_grad_kernel(calls: Calls, gradient: Any, permute: Any) -> Plan:
    """Return one launch; if the axis is not the last one, Permute moves it there and back."""
    (shape, _), axis, dtype = calls.shapes, calls.attributes["axis"], calls.subject.data_types["y"].dtype
    outer, cols, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
    if inner == 1:
        return Plan(Launch(gradient, outer, cols, Placeholder(0), Placeholder(1), RESULT))
    y, dy = turned = [Temporary((outer, inner, cols), dtype) for _ in range(2)]
    return Plan(
        *(
            Launch(permute, dtype, (outer, cols, inner), Placeholder(k), (0, 2, 1), to, names={"src": name})
            for k, (name, to) in enumerate(zip(("y", "dy"), turned, strict=True))
        ),
        Launch(gradient, outer * inner, cols, y, dy, dy),
        Launch(permute, dtype, (outer, inner, cols), dy, (0, 2, 1), RESULT),
    )


_NAMES: dict[str, Any] = {"dx": "out", "dst": "out", "cols": "y.shape", "rows": "y.shape"}
for _name, _factory in (("softmax_grad", SoftmaxBackwardFactory), ("log_softmax_grad", LogSoftmaxBackwardFactory)):
    _exists = primitive_exists(_factory, data_type("y"))
    launching(_name, _exists, _PERMUTE, name="SoftmaxGradKernel", **_NAMES)(_softmax_grad_kernel)
