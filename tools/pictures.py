"""Draws the pictures of the documents that depend on the package: `python -m tools.pictures`."""

from __future__ import annotations

from typing import Any

import numpy as np

import ep
from tools.generated import write


@ep.fuse
def _layer(x: Any, w: Any, b: Any) -> Any:
    h = ep.ops.gelu(x @ w + b)
    d = h - ep.ops.mean(h, -1, keepdims=True)
    return d * ep.ops.rsqrt(ep.ops.mean(d * d, -1, keepdims=True) + 1e-5), ep.ops.max(h, 0)


def files() -> dict[str, str]:
    """Return the text of each picture, by its file."""
    x, w, b = (np.zeros(shape, np.float32) for shape in ((64, 128), (128, 256), (256,)))
    return {"docs/pictures/kernels.svg": _layer.explain(x, w, b).svg()}


if __name__ == "__main__":
    write(files())
