"""Scatters: arrays with updates at some of their places."""

from __future__ import annotations

from typing import Any, Final

from ep import ops
from ep.onnx.operators import fitting
from ep.onnx.operators.fitting import axis_in, check_rank, check_shape, check_within
from ep.onnx.operators.line import line, one_of
from ep.ops.scatter_rows import REDUCTIONS, Reduction

check: Final = one_of(reduction=REDUCTIONS)


@line("Scatter", 9)
@line("ScatterElements", 11, check=check)
def scatter_elements(x: Any, indices: Any, updates: Any, *, axis: int, reduction: Reduction = "none") -> Any:
    """Return x with each element of `updates` at the place that `indices` has for it along an axis."""
    axis = axis_in(len(x.shape), axis)
    check_within("indices", indices.shape, x.shape, axis)
    check_shape("updates", updates, indices.shape)
    return ops.scatter(x, indices, updates, axis, reduction, mode="wrap_negative")


@line("ScatterND", 11, check=check)
def scatter_nd(x: Any, indices: Any, updates: Any, *, reduction: Reduction = "none") -> Any:
    """Return x with parts of `updates` in the places of parts of x, which the last axis of `indices` names."""
    check_rank("data", x, least=1)
    check_rank("indices", indices, least=1)
    depth = indices.shape[-1]
    fitting.check(depth <= len(x.shape), "indices of shape", indices.shape, f"of at most {len(x.shape)} numbers each")
    check_shape("updates", updates, (*indices.shape[:-1], *x.shape[depth:]))
    return ops.scatter_nd(x, indices, updates, reduction, mode="wrap_negative")
