"""References for the operators that move data, computed element by element."""

import numpy as np


def gather(params, indices, axis, batch_dims=0):
    """Return TensorFlow's gather, for indices that are all in range."""
    params, indices = np.asarray(params), np.asarray(indices)
    num_index_axes = indices.ndim - batch_dims
    result = np.empty(params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1 :], params.dtype)
    for place in np.ndindex(result.shape):
        before, chosen, after = place[:axis], place[axis : axis + num_index_axes], place[axis + num_index_axes :]
        row = indices[before[:batch_dims] + chosen]
        result[place] = params[(*before, row, *after)]
    return result


def expand(x, shape):
    """Return x repeated along axes of size 1 and along new axes, which come first."""
    x = np.asarray(x)
    result = np.empty(shape, x.dtype)
    for place in np.ndindex(result.shape):
        read = place[len(shape) - x.ndim :]
        result[place] = x[tuple(0 if size == 1 else at for size, at in zip(x.shape, read, strict=True))]
    return result


def repeat(x, sizes):
    """Return copies of x side by side: the element at i is the element of x at i modulo the size of x."""
    x = np.asarray(x)
    x = x.reshape((1,) * (len(sizes) - x.ndim) + x.shape)
    result = np.empty([size * times for size, times in zip(x.shape, sizes, strict=True)], x.dtype)
    for place in np.ndindex(result.shape):
        result[place] = x[tuple(at % size for at, size in zip(place, x.shape, strict=True))]
    return result
