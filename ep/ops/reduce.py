"""sum, prod, mean, min, max, any and all: reductions of all elements along some axes to one value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ep.common.checks import as_truth
from ep.common.primitive.broadcast import Dims
from ep.include.data_type import DataType, DTypeLike, as_data_type
from ep.include.number_kind import BOOL, COMPLEXES, FLOATS, UNSIGNED, Kind, number_kind
from ep.include.primitive.reduce_op import EXTREMES, SUMS, TRUTHS, ReduceOp
from ep.include.shown import shown
from ep.ops.declare.calls import Function
from ep.ops.declare.function import FUNCTIONS, Tensor, operator
from ep.ops.declare.gradient import Backward, Gradients
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import Always, Given, SameAs, TypeRule
from ep.ops.kernels import attribute, launching
from ep.ops.reduce_kernel import CAST, FILL, MUL, exists, mean_of_piece_kernel, reduce_kernel
from ep.ops.sbp_signatures import PMAX, PMIN, P, signature
from ep.ops.shapes import as_axes
from ep.ops.terms import conjugated, in_type, ones_like, over_size, unselected, viewed, wide
from ep.sbp import Problem, Sbp, SbpSignature, Split


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    axes, kept = attributes["axes"], attributes["keepdims"]
    return [tuple(1 if axis in axes else size for axis, size in enumerate(shapes[0]) if kept or axis not in axes)]


def _resolved(name: str, x: Tensor, axis: Any, keepdims: Any) -> dict[str, Any]:
    """Return the attributes that all reductions have: axes from the front, in order."""
    num_dims = len(x.shape)
    try:
        axes = range(num_dims) if axis is None else as_axes(axis, "axis", num_dims)
    except (TypeError, ValueError):
        is_operand = hasattr(axis, "dtype") or isinstance(axis, list | float | complex)
        if name in ("min", "max") and is_operand:
            words = f"axis is {shown(axis)}; {name} takes one array, and {name}imum(x, y) is for two"
            raise TypeError(words) from None
        raise
    return {"axes": tuple(sorted(axes)), "keepdims": as_truth(keepdims, "keepdims")}


def _signatures(op: ReduceOp) -> Any:
    """Return the function that yields the signatures: a kept axis stays split, a reduced one gives partials."""

    def signatures(problem: Problem) -> Iterator[SbpSignature]:
        (shape,), (source,), given = problem.shapes, problem.types, problem.attributes
        partial, has_empty = _partial(op), op not in EXTREMES  # the extremes need at least one element
        for axis in range(len(shape)):
            if axis not in given["axes"]:
                gone = 0 if given["keepdims"] else len([one for one in given["axes"] if one < axis])
                yield signature(Split(axis), Split(axis - gone))
            elif partial is not None and (has_empty or shape[axis] >= problem.ranks):
                yield signature(Split(axis), partial)
        if op in SUMS and source not in BOOL:
            whole = source in FLOATS + COMPLEXES or problem.out_type not in FLOATS + COMPLEXES
            if whole or op is ReduceOp.kSum:
                yield signature(P, P)
        if partial in (PMAX, PMIN) and (op in EXTREMES or source in BOOL):
            yield signature(partial, partial)

    return signatures


def _partial(op: ReduceOp) -> Sbp | None:
    """Return the SBP of results of pieces along a reduced axis."""
    if op in SUMS:
        return P
    if op in (ReduceOp.kMax, ReduceOp.kAny):
        return PMAX
    return PMIN if op in (ReduceOp.kMin, ReduceOp.kAll) else None


def _local_mean(problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
    """Return the attributes of a rank: a mean along a split reduced axis is divided by the count of the whole."""
    (source,), given = signature.inputs, problem.attributes
    if not isinstance(source, Split) or source.axis not in given["axes"]:
        return given
    return {**given, "is_piece": given["count"] > 0}


def type_of_sums(x: Tensor, dtype: DTypeLike | None) -> DataType:
    """Return the type of a sum or product: that of x, but at least 64 bits for bools and integers, as in NumPy."""
    if dtype is not None:
        return as_data_type(dtype)
    source = as_data_type(x.dtype)
    if number_kind(source) in (Kind.FLOAT, Kind.COMPLEX):
        return source
    return DataType.kUInt64 if source in UNSIGNED else DataType.kInt64


def _reduction(op: ReduceOp, dtype: TypeRule, **given: Any) -> Callable[[Callable[..., Attributes]], Function]:
    """Return a decorator that declares the operator of `op`. given: the other parts, as in `operator`."""
    return operator(shape=_shape, dtype=dtype, signatures=_signatures(op), joins=op, **given)


def _kept(back: Backward, of: Any) -> Any:
    """Return a result with the reduced axes as axes of size 1, except leading ones, which broadcasting adds."""
    axes, shape = back.attributes["axes"], back.inputs[0].shape
    first = next((axis for axis in range(len(shape)) if axis not in axes), len(shape))
    if not back.attributes["keepdims"] and axes == tuple(range(first)):
        return of
    return viewed(of, [1 if axis in axes else size for axis, size in enumerate(shape)])


def _spread(back: Backward, of: Any) -> Any:
    """Return a result in the type of x, expanded to its shape."""
    (x,) = back.inputs
    return FUNCTIONS["expand"](_kept(back, in_type(of, x.dtype)), x.shape)


def _sum_gradient(back: Backward) -> Gradients:
    return [_spread(back, back.dy)]


def _mean_gradient(back: Backward) -> Gradients:
    count = math.prod(back.inputs[0].shape[axis] for axis in back.attributes["axes"])
    return [_spread(back, over_size(wide(back.dy), count or 1))]


def _prod_gradient(back: Backward) -> Gradients:
    """Return dy times the product of the other elements; each axis continues with the product over those before it."""
    (x,) = back.inputs
    left = wide(in_type(x, back.dy.dtype))
    others = ones_like(left)
    for axis in back.attributes["axes"]:
        others = FUNCTIONS["mul"](others, _others(left, axis))
        left = FUNCTIONS["prod"](left, axis, keepdims=True)
    return [in_type(FUNCTIONS["mul"](_kept(back, wide(back.dy)), conjugated(others)), x.dtype)]


def _others(x: Any, axis: int) -> Any:
    """Return, for each element, the product of the other elements along an axis.

    The halves of the axis are multiplied recursively until one element is left; when the recursion returns, each
    half is multiplied by the other half. There is no division, which would fail with a zero or a product out of range.
    """
    size = x.shape[axis]
    if size < 2:
        return ones_like(x)
    odd = size % 2
    before, after = ([(0, by if at == axis else 0) for at in range(len(x.shape))] for by in (odd, -odd))
    first, second = FUNCTIONS["split"](FUNCTIONS["pad"](x, before, constant_values=1), 2, axis)
    rest = _others(FUNCTIONS["mul"](first, second), axis)
    both = [FUNCTIONS["mul"](rest, second), FUNCTIONS["mul"](rest, first)]
    return FUNCTIONS["pad"](FUNCTIONS["concat"](both, axis), after)


def _extreme_gradient(back: Backward) -> Gradients:
    """Divide the gradient among the elements that are equal to the result; a NaN result makes it NaN everywhere."""
    (x,) = back.inputs
    found = FUNCTIONS["equal"](x, _kept(back, back.output))
    count = FUNCTIONS["sum"](found, back.attributes["axes"], dtype="float64", keepdims=True)
    share = FUNCTIONS["div"](_kept(back, wide(back.dy)), count)
    others = _kept(back, FUNCTIONS["add"](unselected(back.dy), unselected(back.output)))
    return [FUNCTIONS["where"](found, in_type(share, x.dtype), others)]


@_reduction(ReduceOp.kSum, Given("dtype"), gradient=_sum_gradient)
def sum(
    x: Tensor, axis: int | tuple[int, ...] | None = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Attributes:
    """Return the sum of elements along axes, as `numpy.sum`.

    x: array of any type.
    axis: the axis to reduce, or a tuple of axes; all by default. Negative ones are counted from the last.
    dtype: that of the result, to which elements are converted first; by default, that of x, but int64 for bool and
        smaller integers, and uint64 for smaller unsigned ones.
    keepdims: whether the result keeps these axes, with size 1.
    out: where to put the result, an array of its shape and dtype.

    The order of additions depends on the shape alone. float32 and narrower types are accumulated in float64 on the CPU.
    """
    return {**_resolved("sum", x, axis, keepdims), "dtype": type_of_sums(x, dtype)}


@_reduction(ReduceOp.kProd, Given("dtype"), gradient=_prod_gradient)
def prod(
    x: Tensor, axis: int | tuple[int, ...] | None = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Attributes:
    """Return the product of elements along axes, as `numpy.prod`; its parameters are those of `sum`."""
    return {**_resolved("prod", x, axis, keepdims), "dtype": type_of_sums(x, dtype)}


@_reduction(
    ReduceOp.kMean,
    Given("dtype"),
    local=_local_mean,
    gradient=_mean_gradient,
    standard={"mean": "bools and integers are taken as float64"},
)
def mean(
    x: Tensor, axis: int | tuple[int, ...] | None = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Attributes:
    """Return the mean of elements along axes, as `numpy.mean`; NaN if there are none.

    x, axis, keepdims, out: as of `sum`.
    dtype: that of the result, a floating or complex one; by default, that of x, or float64 for bools and integers.

    No intermediate sum overflows unless the mean does.
    """
    source = as_data_type(x.dtype)
    given = as_data_type(dtype) if dtype is not None else source if source in FLOATS + COMPLEXES else DataType.kDouble
    if given not in FLOATS + COMPLEXES:
        raise TypeError(f"dtype is {given.dtype}; a mean is of a floating or complex type")
    resolved = _resolved("mean", x, axis, keepdims)
    count = math.prod(x.shape[axis] for axis in resolved["axes"])
    return {**resolved, "dtype": given, "count": count, "is_piece": False}


@_reduction(
    ReduceOp.kMin,
    SameAs("x"),
    gradient=_extreme_gradient,
    standard={"min": "a NaN spreads; no elements are an error"},
)
def min(x: Tensor, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Attributes:
    """Return the least element along axes, as `numpy.min`; NaN if one of them is NaN. `minimum` is for two arrays.

    x: array of any type but complex ones.
    axis, keepdims, out: as of `sum`. Raises ValueError if there are no elements along the axes.
    """
    return _resolved("min", x, axis, keepdims)


@_reduction(
    ReduceOp.kMax,
    SameAs("x"),
    gradient=_extreme_gradient,
    standard={"max": "a NaN spreads; no elements are an error"},
)
def max(x: Tensor, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Attributes:
    """Return the largest element along axes, as `numpy.max`; NaN if one of them is NaN. `maximum` is for two arrays.

    x: array of any type but complex ones.
    axis, keepdims, out: as of `sum`. Raises ValueError if there are no elements along the axes.
    """
    return _resolved("max", x, axis, keepdims)


@_reduction(ReduceOp.kAny, Always(DataType.kBool), standard={"any": "NaN is true"})
def any(x: Tensor, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Attributes:
    """Return whether any element along axes is true (not 0), as `numpy.any`; False if there are none.

    x: array of any type; NaN is true.
    axis, keepdims, out: as of `sum`.
    """
    return _resolved("any", x, axis, keepdims)


@_reduction(ReduceOp.kAll, Always(DataType.kBool), standard={"all": "NaN is true"})
def all(x: Tensor, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Attributes:
    """Return whether all elements along axes are true (not 0), as `numpy.all`; True if there are none.

    x: array of any type; NaN is true.
    axis, keepdims, out: as of `sum`.
    """
    return _resolved("all", x, axis, keepdims)


_IS_PIECE = attribute("is_piece") == True  # noqa: E712
_NAMES: dict[str, Any] = {"src": "x", "src_dims": "x.shape", "dst": "out", "axes": "axis"}

for _op in ReduceOp:
    _needs = (exists(_op, False),) if _op in EXTREMES + TRUTHS else (exists(_op, True), CAST)
    _given: dict[str, Any] = {"when": ~_IS_PIECE} if _op is ReduceOp.kMean else {}
    _word = _op.name.removeprefix("k")
    launching(_word.lower(), *_needs, name=f"{_word}Kernel", **_given, **_NAMES)(reduce_kernel)
launching("mean", exists(ReduceOp.kMean, True), CAST, MUL, FILL, when=_IS_PIECE, **_NAMES)(mean_of_piece_kernel)
