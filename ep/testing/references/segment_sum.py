"""UnsortedSegmentSum, row by row."""

import numpy as np

from ep.testing.references.convert import convert


def segment_sum(
    data: np.ndarray, ids: np.ndarray, num_segments: int, offset: int, part_rows: int | None = None
) -> np.ndarray:
    """Add the rows of data [batch, outer, num_ids, inner] by ids [batch, num_ids], in their order.

    16-bit floats are added in float32 and rounded once, integers modulo 2^n.

    part_rows: in segments with more than 64 rows, parts of this many rows are added first, and then their sums.
    """
    batch, outer, _, inner = data.shape
    is_half = data.dtype.itemsize == 2 and data.dtype.kind not in "iu"
    out = np.zeros((batch, outer, num_segments, inner), np.float32 if is_half else data.dtype)
    with np.errstate(all="ignore"):
        for (b, segment), rows in rows_of_segments(ids, num_segments, offset).items():
            length = part_rows if part_rows and len(rows) > 64 else len(rows)
            for first in range(0, len(rows), length):
                part = np.zeros((outer, inner), out.dtype)
                for row in rows[first : first + length]:
                    part += data[b, :, row].astype(out.dtype)
                out[b, :, segment] += part
        return convert(out, data.dtype) if is_half else out


def rows_of_segments(ids: np.ndarray, num_segments: int, offset: int) -> dict[tuple[int, int], list[int]]:
    """Return the rows of each segment that has any, by batch and segment."""
    found: dict[tuple[int, int], list[int]] = {}
    for b, row in np.ndindex(ids.shape):
        segment = int(ids[b, row]) - offset
        if 0 <= segment < num_segments:
            found.setdefault((b, segment), []).append(row)
    return found
