"""Functions of the array API that other operators compute together; `ep.fuse` joins their parts in one kernel."""

from __future__ import annotations

from typing import Any

from ep.include.arrays import Array, ArrayLike
from ep.include.shown import shown
from ep.ops.declare.function import FUNCTIONS, composition


@composition
def isclose(
    x: ArrayLike, y: ArrayLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False, *, out: Any = None
) -> Array:
    """Return whether `|x - y| <= atol + rtol * |y|`, as `numpy.isclose`: `is_close`, or `is_close_equal_nan`.

    x, y, out: as of `is_close`.
    rtol, atol: in NumPy's order. equal_nan: whether two NaNs are equal.
    """
    if not isinstance(equal_nan, bool):
        raise TypeError(f"equal_nan must be True or False, not {shown(equal_nan)}")
    close = FUNCTIONS["is_close_equal_nan" if equal_nan else "is_close"]
    return close(x, y, rtol=rtol, atol=atol) if out is None else close(x, y, rtol=rtol, atol=atol, out=out)
