"""The `[outer, gather, inner]` view of params that are gathered along one axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

MAX_OFFSET: Final = 2**62
"""The largest magnitude of Gather's `offset`: more than any memory has rows, and index - offset never wraps around."""


class GatherView(NamedTuple):
    """Params as `[batch, outer, gather, inner]`, row-major, with the sizes that the primitives take."""

    batch: int
    outer: int
    gather: int
    inner: int


def gather_view(params_dims: Sequence[int], axis: int, batch_dims: int = 0) -> GatherView:
    """View params of `params_dims` for a gather along `axis`, `0 <= batch_dims <= axis < len(params_dims)`.

    `[4, 2, 3, 2, 6]` along axis 2 is `[8, 3, 12]`.
    """
    return GatherView(
        math.prod(params_dims[:batch_dims]),
        math.prod(params_dims[batch_dims:axis]),
        params_dims[axis],
        math.prod(params_dims[axis + 1 :]),
    )
