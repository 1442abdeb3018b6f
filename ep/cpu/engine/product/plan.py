"""The plan of a launch of BroadcastMatmul."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ep.common.native.object_layout import data_address
from ep.common.native.record import Words
from ep.common.primitive.product import Product, Walk
from ep.common.primitive.signature import Signature
from ep.cpu.engine.loop_nest import LoopNest, adjacent
from ep.cpu.engine.product.cut import cut, cut_depth
from ep.cpu.engine.product.state import SIZES, BatchAxes, ProductLoops
from ep.include.primitive.window_map import WindowMap

Array = np.ndarray[Any, Any]

MOST_STEP: Final = 4
"""The longest step from window to window that is read in vectors: as many vectors are read as for a step of 1."""
_READ_BEHIND: Final = 64  # bytes of bits that are read behind those of the last columns, at most
_WINDOWS: Final = adjacent(ProductLoops, "window_rows", "window_columns", "window_ends")
_INSIDE: Final = adjacent(ProductLoops, "window_inside", "window_outside")
_AXES: Final = adjacent(BatchAxes, "num_axes", "dims")


class ProductPlan(LoopNest):
    """The plan of a product that is cut into blocks."""

    def __init__(
        self,
        product: Product,
        signature: Signature | None = None,
        counts: tuple[int, ...] = (),
        windows: WindowMap | None = None,
        parts: tuple[int, int, int] | None = None,
        at_once: int = 1,
    ) -> None:
        """Make the plan.

        signature: that of launches of the product alone. counts: the numbers of elements of a, b and c, which are the
            sizes of the signature.
        windows: the places of the elements of b, if b is windows of an array.
        parts: the numbers of parts of rows, columns and sums; None for those of `cut` and `cut_depth`.
        at_once: the multiplications that take as long as one of float32.
        """
        super().__init__(ProductLoops, signature)
        if signature is not None:
            self.set_checks(counts, in_place=False)
        m, n, k, batches, terms = product
        num_batches, num_terms = batches.size, terms.size
        work = float(m) * n * k * num_terms / at_once
        if parts is None:
            row_parts, column_parts = cut(m, n, work, num_batches)
            num_blocks = row_parts * column_parts * num_batches
            parts = row_parts, column_parts, cut_depth(m, n, max(k, num_terms), work * num_batches, num_blocks)
        self.set_words(SIZES, (m, n, k, num_batches, num_terms, *parts))
        if windows is not None:
            self._tables = [Words(one) for one in (windows.rows, windows.columns, _ends(windows))]
            self.set_words(_WINDOWS, [one.address for one in self._tables])  # compiled code has their addresses
            if windows.inside is not None:
                self._bits = _inside(windows, windows.inside)
                self.set_words(_INSIDE, [one.address for one in self._bits[:2]])
        self._set_walk(self.fields.batches, batches)
        self._set_walk(self.fields.terms, terms)

    def _set_walk(self, first: int, walk: Walk) -> None:
        if walk.dims:  # in a new plan, all words are 0
            self.set_words(first + _AXES, (len(walk.dims), *walk.dims))
            self.set_words(first + BatchAxes.a_strides, walk.a_strides)
            self.set_words(first + BatchAxes.b_strides, walk.b_strides)


def read_step(windows: WindowMap) -> int:
    """Return the step from column to column with which windows are packed; others are packed one by one."""
    return windows.step if windows.step <= MOST_STEP else 1


def _ends(windows: WindowMap) -> Array:
    """Return, for each column, the number of the first one behind it that is not one step after the one before."""
    last = np.flatnonzero(np.diff(windows.columns) != read_step(windows)) + 1
    bounds = np.append(last, len(windows.columns)).astype(np.int64)
    return np.repeat(bounds, np.diff(bounds, prepend=0))


def _inside(windows: WindowMap, inside: Array) -> tuple[Words, ...]:
    """Return the address of the bits of each row, the number of columns before each with a bit that is 0, and the bits.

    A column has as many bits as elements are read for it: the first one is its own.
    """
    places, columns = inside.shape
    bits = np.zeros((places, columns, read_step(windows)), np.bool_)
    bits[..., 0] = inside
    packed = np.packbits(bits.reshape(places, -1), axis=1, bitorder="little")
    packed = np.pad(packed, ((0, 0), (0, _READ_BEHIND)))
    turns = np.arange(len(windows.rows), dtype=np.int64) % places
    outside = np.concatenate([[0], np.cumsum(~inside.all(axis=0))]).astype(np.int64)
    rows = data_address(packed) + turns * packed.shape[1]
    return Words(rows, range(rows.size)), Words(outside), Words(packed)
