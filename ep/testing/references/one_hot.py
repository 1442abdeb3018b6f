"""OneHot, element by element."""

import numpy as np


def one_hot(indices: np.ndarray, lower: int, upper: int, on: object, off: object, dtype: np.dtype) -> np.ndarray:
    """Return [len(indices), upper - lower] elements: `on` where the index is the class, else `off`."""
    out = np.full((indices.size, upper - lower), np.array(off).astype(dtype), dtype)
    for row, index in enumerate(indices):
        if lower <= int(index) < upper:
            out[row, int(index) - lower] = np.array(on).astype(dtype)
    return out
