"""Gather and BatchGather, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep.testing.arrays import Array


def reference(params: Array, indices: Array, offset: int) -> Any:
    """Gather from params [batch, outer, gather, inner] by indices [batch, num_indices]; zeros for an index outside."""
    batch, outer, gather, inner = params.shape
    out = np.zeros((batch, outer, indices.shape[1], inner), params.dtype)
    for b in range(batch):
        for i, index in enumerate(indices[b]):
            row = int(index) - offset
            if 0 <= row < gather:
                for o in range(outer):
                    out[b, o, i] = params[b, o, row]
    return out
