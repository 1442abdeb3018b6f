"""Copies of columns of arrays: the common part of operators that cut and join."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.include.primitive.copy_nd import CopyNdFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.ops.kernels import Function, Launch, Value, primitive_exists

COPY_ND = primitive_exists(CopyNdFactory, kMaxNumDims)


def columns(
    copy_nd: Any,
    dtype: Any,
    shape: tuple[int, int],
    begin: int,
    whole: Value,
    parts: Sequence[Value],
    *,
    to_parts: bool,
) -> Launch:
    """Return the copy between an array and its parts, which are columns of its rows; the first is at column `begin`.

    shape: the numbers of rows, one at least, and of columns.
    """
    return Launch(Function(copy_nd.LaunchColumns), dtype, whole, *shape, begin, parts, to_parts)
