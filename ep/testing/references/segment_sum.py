"""UnsortedSegmentSum, row by row."""

import numpy as np

from ep.testing.references.convert import convert


def segment_sum(data: np.ndarray, ids: np.ndarray, num_segments: int, offset: int) -> np.ndarray:
    """data is [batch, outer, num_ids, inner], ids [batch, num_ids]: rows added in their order, 16-bit floats in float32
    and rounded once, integers modulo 2^n."""
    batch, outer, _, inner = data.shape
    is_half = data.dtype.itemsize == 2 and data.dtype.kind not in "iu"
    out = np.zeros((batch, outer, num_segments, inner), np.float32 if is_half else data.dtype)
    with np.errstate(all="ignore"):
        for b, row in np.ndindex(ids.shape):
            segment = int(ids[b, row]) - offset
            if 0 <= segment < num_segments:
                out[b, :, segment] += data[b, :, row].astype(out.dtype)
        return convert(out, data.dtype) if is_half else out
