"""The gradients of normalisations, computed from the means and 1 over the roots that these return."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ep.common.checks import as_truth
from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, ArrayLike
from ep.include.number_kind import FLOATS
from ep.include.shown import shown
from ep.ops.composition import composition
from ep.ops.declare.function import FUNCTIONS
from ep.ops.gradients import OF_FUNCTIONS, Slopes
from ep.ops.joined import joined
from ep.ops.norms import Groups, Rows, computed_in
from ep.ops.shapes import as_axes, check_broadcasts, check_shape
from ep.ops.terms import in_type, over_size, summed_to, viewed


@composition(FLOATS, alike=False)
@joined
def layer_norm_grad(
    dy: ArrayLike,
    x: ArrayLike,
    mean: ArrayLike,
    inverse: ArrayLike,
    weight: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    axis: int | Sequence[int] = -1,
    *,
    wanted: Sequence[bool] = (True, True, True),
) -> list[Array | None]:
    """Return the gradients of `layer_norm` by x, weight and bias: each has the shape and dtype of its operand.

    dy: the gradient by the result, of the shape of x. mean, inverse: the statistics that `layer_norm` returned.
    x, weight, bias, axis: as given to `layer_norm`. Of bias, only shape and dtype matter.
    wanted: which of the three gradients are computed. The others are None, also that of an operand which is None.

    All is computed in the dtype of x, 16-bit numbers in float32; the gradients of weight and bias are rounded once.
    """
    axes = tuple(sorted(as_axes(axis, "axis", len(x.shape))))
    check_shape("dy", dy, x.shape)
    for name, one in (("mean", mean), ("inverse", inverse)):
        check_shape(name, one, tuple(1 if axis in axes else size for axis, size in enumerate(x.shape)))
    return _gradients(dy, x, axes, mean, inverse, weight, bias, _three(wanted))


@composition(FLOATS, alike=False)
@joined
def rms_norm_grad(
    dy: ArrayLike,
    x: ArrayLike,
    inverse: ArrayLike,
    weight: ArrayLike | None = None,
    axis: int | Sequence[int] = -1,
    *,
    wanted: Sequence[bool] = (True, True),
) -> list[Array | None]:
    """Return the gradients of `rms_norm` by x and weight, as `layer_norm_grad` does; `rms_norm` returned `inverse`."""
    axes = tuple(sorted(as_axes(axis, "axis", len(x.shape))))
    check_shape("dy", dy, x.shape)
    check_shape("inverse", inverse, tuple(1 if axis in axes else size for axis, size in enumerate(x.shape)))
    return _gradients(dy, x, axes, None, inverse, weight, None, _three(wanted, 2))[:2]


@composition(FLOATS, alike=False)
@joined
def group_norm_grad(
    dy: ArrayLike,
    x: ArrayLike,
    mean: ArrayLike,
    inverse: ArrayLike,
    weight: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    *,
    num_groups: int,
    wanted: Sequence[bool] = (True, True, True),
) -> list[Array | None]:
    """Return the gradients of `group_norm` by x, weight and bias, as `layer_norm_grad` does.

    dy, x: shape (N, C, ...). mean, inverse: shape (N, num_groups), as `group_norm` returned them.
    """
    grouped = Groups.among(x, num_groups)
    statistics = grouped.shape[:2]
    check_shape("dy", dy, x.shape)
    for name, one in (("mean", mean), ("inverse", inverse)):
        check_shape(name, one, statistics)
    by_weight, by_bias = grouped.channels(weight, "weight"), grouped.channels(bias, "bias")
    mean, inverse = (viewed(one, (*statistics, 1, 1)) for one in (mean, inverse))
    dy, seen = (viewed(one, grouped.shape) for one in (dy, x))
    found = _gradients(dy, seen, (2, 3), mean, inverse, by_weight, by_bias, _three(wanted))
    each = zip(found, (x, weight, bias), strict=True)
    return [None if gradient is None else viewed(gradient, one.shape) for gradient, one in each]


def _slopes_of(name: str) -> Slopes:
    """Return the function of the gradients by the inputs of a norm, which is computed again."""

    def slopes(inputs: Sequence[Any], attributes: Mapping[str, Any], dy: Any) -> list[Any]:
        _, *statistics = FUNCTIONS[name](*inputs, **attributes, return_statistics=True)
        rest = {one: value for one, value in attributes.items() if one != "epsilon"}
        found = FUNCTIONS[f"{name}_grad"](dy, inputs[0], *statistics, *inputs[1:], **rest)
        return [*found][: len(inputs)]

    return slopes


OF_FUNCTIONS.update({name: _slopes_of(name) for name in ("layer_norm", "rms_norm", "group_norm")})


def _three(wanted: Any, count: int = 3) -> tuple[bool, bool, bool]:
    """Return which gradients are wanted; a third one, which a function lacks, is not."""
    if not isinstance(wanted, tuple | list) or len(wanted) != count:
        raise TypeError(f"wanted must be {count} times True or False, not {shown(wanted)}")
    first, second, *third = (as_truth(one, f"wanted[{k}]") for k, one in enumerate(wanted))
    return first, second, bool(third and third[0])


def _gradients(
    dy: Any,
    x: Any,
    axes: Dims,
    mean: Any,
    inverse: Any,
    weight: Any,
    bias: Any,
    wanted: tuple[bool, bool, bool],
) -> list[Any]:
    """Return the gradients by x, weight and bias. mean: None for numbers that are not centred.

    Where the weights of a row are one number, it is a factor of the sums of the row, which both gradients need.
    """
    check_broadcasts("weight", weight, x.shape)
    check_broadcasts("bias", bias, x.shape)
    mul, sub = FUNCTIONS["mul"], FUNCTIONS["sub"]
    given = {"mean": mean, "inverse": inverse, "weight": weight, "bias": bias}
    given = {name: one for name, one in given.items() if one is not None}
    rows, wide = Rows.of_shapes(axes, x.shape, *(one.shape for one in given.values())), computed_in(x)
    shape, dtype = x.shape, x.dtype
    dy, x = (in_type(viewed(one, rows.shapes[0]), wide) for one in (dy, x))
    seen = {
        name: in_type(viewed(one, as_rows), wide)
        for (name, one), as_rows in zip(given.items(), rows.shapes[1:], strict=True)
    }
    inverse, scale = seen["inverse"], seen.get("weight")
    normed = mul(sub(x, seen["mean"]) if "mean" in seen else x, inverse)
    by_normed = mul(dy, normed)

    def total(array: Any, axes: Dims) -> Any:
        return FUNCTIONS["sum"](array, axes, wide, keepdims=True)

    def mean_of(sums: Any) -> Any:
        if not rows.outer:
            return over_size(sums, count)
        return rows.after(over_size(total(rows.as_rows(sums), (-1,)), count))

    count = max(math.prod(shape[axis] for axis in axes), 1)
    is_even = scale is None or all(scale.shape[axis] == 1 for axis in rows.inner)
    products = by_normed, dy
    sums = [total(one, rows.inner) if is_even else one for one in products]
    found: list[Any] = [None, None, None]
    if wanted[0]:
        *scaled, centred = (one if scale is None else mul(one, scale) for one in (*sums, dy))
        along, shift = (mean_of(one) if is_even else rows.mean(one) for one in scaled)
        centred = sub(centred, shift) if "mean" in seen else centred
        found[0] = viewed(in_type(mul(sub(centred, mul(normed, along)), inverse), dtype), shape)
    for k, (name, summed, product) in enumerate(zip(("weight", "bias"), sums, products, strict=True), 1):
        if wanted[k] and name in given:
            has_one = all(seen[name].shape[axis] == 1 for axis in rows.inner)
            gradient = in_type(summed_to(summed if has_one else product, seen[name]), given[name].dtype)
            found[k] = viewed(gradient, given[name].shape)
    return found
