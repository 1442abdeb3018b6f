"""matmul: products of matrices, of vectors, and of broadcast batches of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import wraps
from typing import Any

import numpy as np

from ep.common.checks import as_truth
from ep.common.primitive.broadcast import Dims, broadcast_dims, simplify_broadcast_dims
from ep.include.arrays import RESULT, Array, ArrayLike, Placeholder
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.broadcast_matmul import BroadcastMatmulFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.structure import MatrixProduct
from ep.ops.declare.function import FUNCTIONS, Tensor, operator
from ep.ops.declare.gradient import Backward, Gradients
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.gradients import vjp
from ep.ops.kernels import Calls, Launch, Plan, attribute, data_type, launching, primitive_exists
from ep.ops.sbp_signatures import B, P, signature
from ep.ops.terms import summed_to, viewed
from ep.sbp import Problem, Sbp, SbpSignature, Split

_NAMES = "x1", "x2"


def _matrices(shapes: Sequence[Dims]) -> tuple[Dims, Dims]:
    """Return the shapes of both operands as matrices: a vector is a row on the left, and a column on the right."""
    x1, x2 = shapes
    return x1 if len(x1) > 1 else (1, *x1), x2 if len(x2) > 1 else (*x2, 1)


def _sizes(shape: Dims, transpose: BlasTransposeType) -> Dims:
    """Return the rows and columns of a matrix as it enters the product."""
    rows, columns = shape[-2:]
    return (columns, rows) if transpose is BlasTransposeType.T else (rows, columns)


def product_dims(
    shapes: Sequence[Dims], attributes: Attributes, names: tuple[str, str] = _NAMES
) -> tuple[Dims, Dims, Dims]:
    """Return the dims of both operands and of the result, all as matrices."""
    a, b = _matrices(shapes)
    (m, _), (_, n) = _sizes(a, attributes["transpose_x1"]), _sizes(b, attributes["transpose_x2"])
    return a, b, (*broadcast_dims(a[:-2], b[:-2], names=[f"{name}.shape[:-2]" for name in names]), m, n)


def launch_dims(shapes: Sequence[Dims], attributes: Attributes) -> tuple[Dims, Dims, Dims]:
    """Return the dims of a launch: those of `product_dims`, on merged axes if there are more than 8."""
    a, b, c = product_dims(shapes, attributes)
    if len(c) > kMaxNumDims and 0 not in c:
        (of_a, of_b), of_c = simplify_broadcast_dims(a[:-2], b[:-2])
        a, b, c = (*of_a, *a[-2:]), (*of_b, *b[-2:]), (*of_c, *c[-2:])
    return a, b, c


def product_depth(shapes: Sequence[Dims], attributes: Attributes, names: tuple[str, str] = _NAMES) -> int:
    """Return the number of products in a sum; raises ValueError if the operands differ in it."""
    a, b = _matrices(shapes)
    (_, k), (other_k, _) = _sizes(a, attributes["transpose_x1"]), _sizes(b, attributes["transpose_x2"])
    if k != other_k:
        (x1, x2), (of_x1, of_x2) = names, shapes
        raise ValueError(
            f"{x1} of shape {of_x1} has {k} columns, and {x2} of shape {of_x2} has {other_k} rows; they must be equal"
        )
    return k


def check_axes(name: str, shape: Dims) -> None:
    """Raise ValueError for an operand without axes."""
    if not shape:
        raise ValueError(f"{name} has no axes; a product needs one at least")


def product_shape(shapes: Sequence[Dims], attributes: Attributes, names: tuple[str, str] = _NAMES) -> list[Dims]:
    """Return the shape of the result, which has no axis for an operand that is a vector."""
    x1, x2 = shapes
    *batch, m, n = product_dims(shapes, attributes, names)[2]
    return [(*batch, *[m][: len(x1) - 1], *[n][: len(x2) - 1])]


def product_signatures(problem: Problem) -> Iterator[SbpSignature]:
    """Yield the rows of a product of matrices."""
    x1, x2 = problem.shapes
    (out,), num_batch = problem.out_shapes, max(len(x1) - 2, len(x2) - 2, 0)
    m, k1 = _axes(len(x1), problem.attributes["transpose_x1"], from_end=2)
    n, k2 = _axes(len(x2), problem.attributes["transpose_x2"], from_end=1)
    for axis in range(num_batch):
        places = [_of_batch(shape, axis - num_batch, out[axis]) for shape in problem.shapes]
        yield signature(*places, Split(axis))
    if m is not None:
        yield signature(Split(m), B, Split(num_batch))
    if n is not None:
        yield signature(B, Split(n), Split(len(out) - 1))
    yield signature(Split(k1), Split(k2), P)
    yield signature(P, B, P)
    yield signature(B, P, P)


def _axes(num_dims: int, transpose: BlasTransposeType, from_end: int) -> tuple[int | None, int]:
    """Return the axis that the result keeps, `from_end` without a transposition, and the one that is summed."""
    if num_dims == 1:
        return None, 0
    kept = from_end if transpose is BlasTransposeType.N else 3 - from_end
    return num_dims - kept, num_dims - (3 - kept)


def _of_batch(shape: Dims, axis: int, size: int) -> Sbp:
    """Return the SBP of an operand if a batch axis of the result, counted from the last of them, is split."""
    has_it = -axis <= len(shape) - 2 and shape[axis - 2] == size
    return Split(len(shape) - 2 + axis) if has_it else B


def _gradient(back: Backward) -> Gradients:
    """Return products with the other operand, summed over broadcast axes; a vector is seen as a matrix.

    matmul conjugates the matrices that it transposes, so these are the gradients of complex matrices, too.
    """
    x1, x2 = back.inputs
    t1, t2 = (back.attributes[name] is BlasTransposeType.T for name in ("transpose_x1", "transpose_x2"))
    matmul = FUNCTIONS["matmul"]
    a = x1 if len(x1.shape) > 1 else viewed(x1, (1, *x1.shape))
    b = x2 if len(x2.shape) > 1 else viewed(x2, (*x2.shape, 1))
    rows, columns = a.shape[-1 if t1 else -2], b.shape[-2 if t2 else -1]
    dc = viewed(back.dy, (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), rows, columns))
    of_a = matmul(b, dc, t2, True) if t1 else matmul(dc, b, False, not t2)
    of_b = matmul(dc, a, True, t1) if t2 else matmul(a, dc, not t1, False)
    return [viewed(summed_to(of_a, a), x1.shape), viewed(summed_to(of_b, b), x2.shape)]


@operator(
    shape=product_shape, dtype=SameAs("x1"), signatures=product_signatures, gradient=_gradient, joins=MatrixProduct
)
def matmul(x1: Tensor, x2: Tensor, transpose_x1: bool = False, transpose_x2: bool = False) -> Attributes:
    """Return the product of matrices, as `numpy.matmul`.

    x1, x2: arrays of one dtype, an integer, floating or complex type. With more than two axes, the last two are those
        of matrices, and the others broadcast; an array with one axis is a vector, and the result lacks that axis.
    transpose_x1, transpose_x2: whether the last two axes are exchanged first; a complex matrix is also conjugated.
    out: where to put the result, an array of its shape and dtype.

    float16 and bfloat16 are accumulated in float32 and rounded once; integers wrap around. NumPy views with exchanged
    last two axes are not copied. Raises TypeError if the dtypes differ, ValueError for shapes that do not fit and for
    arrays without axes.
    """
    if x1.dtype != x2.dtype:
        raise TypeError(f"x1 has dtype {x1.dtype}, x2 has {x2.dtype}; convert one of them")
    transposes = []
    for x, name, transpose in zip((x1, x2), _NAMES, (transpose_x1, transpose_x2), strict=True):
        check_axes(name, x.shape)
        if as_truth(transpose, f"transpose_{name}") and len(x.shape) == 1:
            raise ValueError(f"transpose_{name} is True, and {name} of shape {x.shape} has one axis alone")
        transposes.append(BlasTransposeType.T if transpose else BlasTransposeType.N)
    attributes = {"transpose_x1": transposes[0], "transpose_x2": transposes[1]}
    product_depth((x1.shape, x2.shape), attributes)
    return attributes


def _of_views(function: Any) -> Any:
    """Return `function` for NumPy views with exchanged last two axes, replaced by the arrays that they view."""

    @wraps(function)
    def matmul(
        x1: ArrayLike,
        x2: ArrayLike,
        transpose_x1: bool = False,
        transpose_x2: bool = False,
        *,
        out: Array | None = None,
    ) -> Array:
        x1, transpose_x1 = _of_view(x1, transpose_x1)
        x2, transpose_x2 = _of_view(x2, transpose_x2)
        if out is None:  # a call without out has a faster path
            return function(x1, x2, transpose_x1, transpose_x2)
        return function(x1, x2, transpose_x1, transpose_x2, out=out)

    return matmul


def _of_view(x: ArrayLike, transpose: bool) -> tuple[Any, bool]:
    if type(x) is not np.ndarray or x.flags.c_contiguous or x.ndim < 2:
        return x, transpose
    if x.dtype.kind != "c" and isinstance(transpose, bool):
        exchanged = x.swapaxes(-1, -2)
        if exchanged.flags.c_contiguous:
            return exchanged, not transpose
    return x, transpose


matmul = FUNCTIONS["matmul"] = _of_views(matmul)


def matmul_grad(
    dy: ArrayLike, x1: ArrayLike, x2: ArrayLike, transpose_x1: bool = False, transpose_x2: bool = False
) -> list[Array]:
    """Return the gradients of `matmul` with respect to x1 and x2: products of dy with the other operand.

    They are summed over broadcast axes.

    dy: the gradient with respect to the result, of its shape and dtype. The others are the arguments of matmul.
    """
    transposes = {"transpose_x1": transpose_x1, "transpose_x2": transpose_x2}
    return vjp("matmul", (x1, x2), transposes, None, dy)


FUNCTIONS["matmul_grad"] = matmul_grad

_MATMUL = primitive_exists(
    BroadcastMatmulFactory, data_type("x1"), attribute("transpose_x1"), attribute("transpose_x2"), kMaxNumDims
)


@launching("matmul", _MATMUL, a="x1", b="x2", c="out", a_dims="x1.shape", b_dims="x2.shape", c_dims="out.shape")
def matmul_kernel(calls: Calls, matmul: Any) -> Plan:
    """Return one launch of BroadcastMatmul."""
    a, b, c = launch_dims(calls.shapes, calls.attributes)
    return Plan(Launch(matmul, 1, a, Placeholder(0), b, Placeholder(1), 0, c, RESULT))
