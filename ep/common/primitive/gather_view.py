"""The `[outer, gather, inner]` view of params that are gathered along one axis, and the sizes of a launch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ep.common.checks import MAX_OFFSET, as_offset, as_size


class GatherView(NamedTuple):
    """Params as `[batch, outer, gather, inner]`, row-major: the sizes that the primitives receive."""

    batch: int
    outer: int
    gather: int
    inner: int


def gather_view(params_dims: Sequence[int], axis: int, batch_dims: int = 0) -> GatherView:
    """Return the view of params for a gather along `axis`, `0 <= batch_dims <= axis < len(params_dims)`.

    `[4, 2, 3, 2, 6]` along axis 2 is `[8, 3, 12]`.
    """
    return GatherView(
        math.prod(params_dims[:batch_dims]),
        math.prod(params_dims[batch_dims:axis]),
        params_dims[axis],
        math.prod(params_dims[axis + 1 :]),
    )


class GatherSizes(NamedTuple):
    """The checked sizes of a launch of Gather (whose batch is 1) or BatchGather."""

    batch: int
    outer: int
    gather: int
    inner: int
    num_indices: int
    offset: int


def as_gather_sizes(batch: Any, outer: Any, gather: Any, inner: Any, num_indices: Any, offset: Any) -> GatherSizes:
    """Return the checked sizes of a launch. Raises TypeError and ValueError, which name the argument."""
    sizes = batch, outer, gather, inner, num_indices, offset
    # the usual ones at once: each of the checks below is a call
    if {*map(type, sizes)} == {int} and min(sizes[:-1]) >= 0 and max(map(abs, sizes)) <= MAX_OFFSET:
        return GatherSizes(*sizes)
    return GatherSizes(
        as_size(batch, "batch_dim_size"),
        as_size(outer, "outer_dim_size"),
        as_size(gather, "gather_dim_size"),
        as_size(inner, "inner_dim_size"),
        as_size(num_indices, "num_indices"),
        as_offset(offset),
    )
