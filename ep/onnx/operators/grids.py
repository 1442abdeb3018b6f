"""Numbers at regular steps: windows of signals, and grids of places."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ep import ops
from ep.onnx.operators.fitting import check, check_shape, number, numbers
from ep.onnx.operators.line import line
from ep.onnx.operators.placing import placed
from ep.onnx.types import dtype_of

NDArray = np.ndarray[Any, Any]


def window(mean: float, first: float, second: float) -> Callable[..., NDArray]:
    """Return the operator of a window that is a sum of cosines of one and of two periods, with these factors."""

    def call(size: NDArray, output_datatype: int, periodic: int) -> NDArray:
        count = number("size", size)
        check(count >= 0, "size", count, "0 or more")
        steps = count if periodic else count - 1
        angles = 2 * math.pi * np.arange(count) / max(steps, 1)
        found = mean - first * np.cos(angles) + second * np.cos(2 * angles)
        return (found if steps else np.ones(count)).astype(dtype_of(output_datatype))

    return call


line("BlackmanWindow", 17, host=(0,))(window(0.42, 0.5, 0.08))
line("HammingWindow", 17, host=(0,))(window(25 / 46, 21 / 46, 0.0))
line("HannWindow", 17, host=(0,))(window(0.5, 0.5, 0.0))


@line("AffineGrid", 20, host=(1,))
def affine_grid(theta: Any, size: NDArray, align_corners: int) -> Any:
    """Return where each place of an image lies after an affine map, from -1 to 1 along each axis, the last axis first.

    A single place along an axis is at 0.
    """
    batch, _, *spatial = numbers("size", size, 4, 5)
    num = len(spatial)
    check_shape("theta", theta, (batch, num, num + 1))
    axes = []
    for count in spatial:
        at = np.arange(count, dtype=np.float64)
        if align_corners:
            axes.append(at * (2 / (count - 1)) - 1 if count > 1 else 0 * at)
        else:
            axes.append((2 * at + 1) / max(count, 1) - 1)
    places = np.stack([*np.meshgrid(*axes, indexing="ij")[::-1], np.ones(spatial)], -1).reshape(-1, num + 1)
    found = ops.matmul(placed(places.astype(theta.dtype), theta), ops.permute(theta, (0, 2, 1)))
    return found.reshape((batch, *spatial, num))
