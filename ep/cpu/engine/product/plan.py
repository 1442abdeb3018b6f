"""The plan of a launch of BroadcastMatmul."""

from __future__ import annotations

from ep.common.primitive.product import Product, Walk
from ep.common.primitive.signature import Signature
from ep.cpu.engine.plan import Plan
from ep.cpu.engine.product.cut import cut, cut_depth
from ep.cpu.engine.product.state import AXES, PRODUCT


class ProductPlan(Plan):
    """What is to be multiplied, cut into blocks."""

    def __init__(self, signature: Signature, product: Product) -> None:
        super().__init__(PRODUCT, signature)
        m, n, k, batches, terms = product
        work = float(m) * n * k * terms.size
        row_parts, column_parts = cut(m, n, work, batches.size)
        num_blocks = row_parts * column_parts * batches.size
        depth_parts = cut_depth(m, n, max(k, terms.size), work * batches.size, num_blocks)
        self.set(m=m, n=n, k=k, num_batches=batches.size, num_terms=terms.size)
        self.set(row_parts=row_parts, column_parts=column_parts, depth_parts=depth_parts)
        self._set_walk(self.fields.batches, batches)
        self._set_walk(self.fields.terms, terms)

    def _set_walk(self, first: int, walk: Walk) -> None:
        self.words[first + AXES.num_axes] = len(walk.dims)
        self.set_words(first + AXES.dims, walk.dims)
        self.set_words(first + AXES.a_strides, walk.a_strides)
        self.set_words(first + AXES.b_strides, walk.b_strides)
