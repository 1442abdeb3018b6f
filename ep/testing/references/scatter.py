"""BatchScatter, row by row."""

from __future__ import annotations

import numpy as np

from ep.include.primitive import BinaryOp, ScatterOp
from ep.testing.references.binary import binary
from ep.testing.references.convert import convert
from ep.testing.references.segment_sum import rows_of_segments


def scatter(
    op: ScatterOp,
    out: np.ndarray,
    updates: np.ndarray,
    indices: np.ndarray,
    offset: int,
    part_rows: int | None = None,
) -> np.ndarray:
    """Return out [batch, outer, places, inner] with the rows of updates [batch, outer, num_indices, inner] in it.

    16-bit floats are combined in float32 and rounded once.

    part_rows: for places with more than 64 rows, parts of this many rows are combined first, and then out with those.
    """
    result, wide = out.copy(), np.float32 if out.dtype.itemsize == 2 and out.dtype.kind not in "iu" else out.dtype

    def combined(rows: list[np.ndarray]) -> np.ndarray:
        total, *others = (row.astype(wide) for row in rows)
        for row in others:
            total = binary(BinaryOp[op.name], total, row, np.dtype(wide))
        return total

    for (b, target), rows in rows_of_segments(indices, out.shape[2], offset).items():
        if op is ScatterOp.kUpdate:
            result[b, :, target] = updates[b, :, rows[-1]]
            continue
        length = part_rows if part_rows and len(rows) > 64 else 1
        parts = [rows[first : first + length] for first in range(0, len(rows), length)]
        total = combined([out[b, :, target], *(combined([updates[b, :, row] for row in part]) for part in parts)])
        result[b, :, target] = convert(total, out.dtype) if wide is np.float32 else total
    return result
