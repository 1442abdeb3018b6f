"""The plan of a launch of BroadcastMatmul."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ep.common.native.object_layout import data_address
from ep.common.primitive.product import Product, Walk
from ep.common.primitive.signature import Signature
from ep.cpu.engine.plan import Plan, adjacent
from ep.cpu.engine.product.cut import cut, cut_depth
from ep.cpu.engine.product.state import AXES, PRODUCT
from ep.include.primitive.window_map import WindowMap

_WORD_BYTES: Final = 8
_SIZES: Final = adjacent(PRODUCT, "m", "n", "k", "num_batches", "num_terms", "row_parts", "column_parts", "depth_parts")
_WINDOWS: Final = adjacent(PRODUCT, "window_rows", "window_columns", "window_inside", "window_step")
_AXES: Final = adjacent(AXES, "num_axes", "dims")


class ProductPlan(Plan):
    """The plan of a product that is cut into blocks."""

    def __init__(
        self,
        product: Product,
        signature: Signature | None = None,
        counts: tuple[int, ...] = (),
        windows: WindowMap | None = None,
    ) -> None:
        """Make the plan.

        signature: that of launches of the product alone. counts: the numbers of elements of a, b and c, which are the
            sizes of the signature.
        windows: the places of the elements of b, if b is windows of an array.
        """
        super().__init__(PRODUCT, signature)
        if signature is not None:
            self.set_checks(counts, in_place=False)
        m, n, k, batches, terms = product
        num_batches, num_terms = batches.size, terms.size
        work = float(m) * n * k * num_terms
        row_parts, column_parts = cut(m, n, work, num_batches)
        num_blocks = row_parts * column_parts * num_batches
        depth_parts = cut_depth(m, n, max(k, num_terms), work * num_batches, num_blocks)
        self.set_words(_SIZES, (m, n, k, num_batches, num_terms, row_parts, column_parts, depth_parts))
        if windows is not None:
            self._tables = (windows.rows, windows.columns, *_inside(windows))  # compiled code has their addresses
            tables = [data_address(one) for one in self._tables[:3]]
            self.set_words(_WINDOWS, (*tables, *(0,) * (3 - len(tables)), windows.step))
        self._set_walk(self.fields.batches, batches)
        self._set_walk(self.fields.terms, terms)

    def _set_walk(self, first: int, walk: Walk) -> None:
        if walk.dims:  # in a new plan, all words are 0
            self.set_words(first + _AXES, (len(walk.dims), *walk.dims))
            self.set_words(first + AXES.a_strides, walk.a_strides)
            self.set_words(first + AXES.b_strides, walk.b_strides)


def _inside(windows: WindowMap) -> tuple[np.ndarray[Any, Any], ...]:
    """Return the address of the bits of each row, and the bits; nothing if all elements are in the array.

    A column has as many bits as elements are read for it: one, or two if every other element is a column.
    """
    if windows.inside is None:
        return ()
    places, columns = windows.inside.shape
    spread = 2 if windows.step == 2 else 1
    bits = np.zeros((places, columns, spread), np.bool_)
    bits[..., 0] = windows.inside
    packed = np.packbits(bits.reshape(places, -1), axis=1, bitorder="little")
    packed = np.pad(packed, ((0, 0), (0, _WORD_BYTES)))  # words are read, up to the last one that begins in a row
    turns = np.arange(len(windows.rows), dtype=np.int64) % places
    return data_address(packed) + turns * packed.shape[1], packed
