"""Scan: the sums or products of all elements up to each one, along an axis."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types, enumerator
from ep.include.primitive.scan_op import ScanOp
from ep.include.stream import Stream


class Scan(Primitive):
    """`dst[i, n, j] = src[i, 0, j] + ... + src[i, n, j]`, or their product; upstream has `cumsum` and `cumprod`.

    kSumToEnd and kProdToEnd combine the elements from n to the last one instead. The order in which elements are added
    depends only on the sizes, so the result has the same bits in every run.
    """

    @abstractmethod
    def Launch(
        self, stream: Stream, outer_dim_size: int, scan_dim_size: int, inner_dim_size: int, src: Any, dst: Any
    ) -> None:
        """Scan on `stream`.

        src, dst: buffers of `[outer_dim_size, scan_dim_size, inner_dim_size]` elements of data_type; dst may be src.

        Integers wrap around. Floating types up to 32 bits are carried in float64, and each result is rounded once.
        Elements are multiplied one after the other; sums are sums of sums of adjacent elements.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """
        self._launch_with(stream, (outer_dim_size, scan_dim_size, inner_dim_size), (src, dst))


class ScanFactory(Factory[Scan]):
    """The factory of Scan for an op and a type."""

    primitive = Scan

    def New(self, op: ScanOp, data_type: DTypeLike) -> Scan | None:
        """Return a Scan by `op` of `data_type`, or None if the device has none; see `NewPrimitive`."""
        enumerator(op, ScanOp, "op")
        return self.Select(Request(Scan, op, data_types(data_type=data_type)))
