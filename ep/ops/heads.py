"""The heads of attention: how its arrays are seen, and the blocks of heads and rows that are computed at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.bounded_cache import BoundedCache
from ep.include.arrays import Arrays
from ep.include.data_type import as_data_type
from ep.include.number_kind import BOOL
from ep.ops.declare.function import FUNCTIONS
from ep.ops.devices import arrays_of
from ep.ops.joined import new_recurrence
from ep.ops.terms import in_type, viewed

WHOLE: Final = 2**23
"""The most bytes of products that are computed at once: those that stay in the caches."""
BLOCK: Final = 2**22
"""The bytes of the products of a block."""
ON_A_DEVICE: Final = 2**6
"""How much more that is on a device with memory of its own, which needs large launches."""
MOST_BLOCKS: Final = 2**4
"""The most blocks of rows: a gradient by keys has a part of each block in memory before these are added."""
CAUSAL_ROWS: Final = 2**7
"""The fewest rows of a block that reads fewer keys than there are, as causal attention lets it."""


class AttentionBlock(NamedTuple):
    """What is computed at a time: rows of some heads.

    by_row: arrays of shape (units, heads, shared * rows, ...), the queries first. k, v: (units, heads, keys, ...).
    mask: None, or an array that broadcasts to (units, heads, shared, rows, keys). places: the last key that each row
    may have, and the number of each key; empty for all. shared, scale, softcap, wide: those of `Heads`.
    """

    by_row: Sequence[Any]
    k: Any
    v: Any
    mask: Any
    places: Sequence[Any]
    shared: int
    scale: float
    softcap: float
    wide: np.dtype[Any]

    def tangents(self) -> Any:
        """Return the hyperbolic tangents of the products of queries and keys over the cap."""
        products = self.apart(self.product(self.by_row[0], self.k, False, True))
        return FUNCTIONS["tanh"](FUNCTIONS["mul"](products, self.scale / self.softcap))

    def products(self) -> Any:
        """Return the products of queries and keys, shape (units, heads, shared, rows, keys); -inf if forbidden."""
        where = FUNCTIONS["where"]
        if self.softcap:
            found = FUNCTIONS["mul"](self.tangents(), self.softcap)
        else:
            found = FUNCTIONS["mul"](self.apart(self.product(self.by_row[0], self.k, False, True)), self.scale)
        if self.mask is not None:
            is_truth = as_data_type(self.mask.dtype) in BOOL
            added = self.mask if is_truth else in_type(self.mask, self.wide)
            found = where(added, found, -math.inf) if is_truth else FUNCTIONS["add"](found, added)
        if self.places:
            last, number = self.places
            found = where(FUNCTIONS["less_equal"](number, last), found, -math.inf)
        return found

    def product(self, x: Any, y: Any, transpose_x: bool, transpose_y: bool) -> Any:
        """Return a product of matrices in the dtype of the computation."""
        return FUNCTIONS["matmul"](in_type(x, self.wide), in_type(y, self.wide), transpose_x, transpose_y)

    def apart(self, array: Any) -> Any:
        """Return an array whose rows are those of heads that share keys, with an axis of these heads."""
        *before, rows, last = array.shape
        return viewed(array, (*before, self.shared, rows // self.shared, last))

    def together(self, array: Any) -> Any:
        """Return an array without the axis that `apart` adds."""
        *before, shared, rows, last = array.shape
        return viewed(array, (*before, shared * rows, last))


class Rows(NamedTuple):
    """The results of a block of rows of all heads.

    begin, end: the rows. keys: how many keys they read. results: shape (units, heads, ...).
    """

    begin: int
    end: int
    keys: int
    results: Sequence[Any]


class Heads:
    """The arrays of attention, seen by units: heads of keys and values, or samples where a mask differs by these alone.

    q: an array of rows. k, v: shape (units, heads, keys, ...). mask: one that broadcasts to (units, heads, shared,
    rows, keys), or None. last: the number of the last key that row 0 may have; None if each may have all. scale,
    softcap: as of attention. shared: how many heads of queries share keys. wide: the dtype of the computation.
    """

    def __init__(self, q: Any, k: Any, v: Any, mask: Any, last: int | None, scale: float, softcap: float) -> None:
        """All are arguments of attention, which has checked them."""
        *samples, heads, self.rows, _ = (1,) * (4 - len(q.shape)) + tuple(q.shape)
        groups = k.shape[-3] if len(k.shape) > 2 else 1
        self.batch, self.keys, self.scale, self.last = math.prod(samples), k.shape[-2], scale, last
        self.softcap = softcap
        self.shared = heads // groups if heads else 1
        self.wide = q.dtype if q.dtype.itemsize > 2 else np.dtype(np.float32)
        differs_by_samples = differs_by_heads = False
        if mask is not None:
            lacks = len(samples) + 3 - len(mask.shape)
            *of_samples, of_heads, of_rows, of_keys = (1,) * lacks + tuple(mask.shape)
            if 1 < math.prod(of_samples) < self.batch:
                mask, of_samples = FUNCTIONS["expand"](mask, (*samples, of_heads, of_rows, of_keys)), samples
            differs_by_heads = of_heads > 1
            differs_by_samples = math.prod(of_samples) > 1 or (differs_by_heads and self.batch == 1)
        self.per = 1 if differs_by_samples == differs_by_heads else groups
        self.units = self.batch * groups // max(self.per, 1)
        self.mask = mask
        if mask is not None:
            by_unit = self.units if differs_by_samples else 1
            by_head = (self.per, self.shared) if differs_by_heads else (1, 1)
            self.mask = viewed(mask, (by_unit, *by_head, of_rows, of_keys))
        self.q = q
        self.k, self.v = (viewed(one, (self.units, self.per, *one.shape[-2:])) for one in (k, v))

    def by_blocks(
        self, by_row: Sequence[Any], step: Callable[[AttentionBlock], list[Any]], *, is_whole: bool = False
    ) -> Iterator[Rows]:
        """Yield the results of a step for all rows.

        by_row: arrays with as many rows as q, q first. step: returns results of shape (units, heads, ...) for a block,
        in the dtype of the computation. It is a function of a module: calls with the same one are traced once.
        is_whole: whether all is one block, also where it is large.
        """
        arrays = arrays_of((self.q,), ("q",))
        base = getattr(arrays, "base", arrays)
        more = 1 if not isinstance(base, Arrays) or base.takes_host_arrays else ON_A_DEVICE
        of_row = self.per * self.shared * max(self.keys, 1) * self.wide.itemsize
        is_whole = is_whole or not isinstance(base, Arrays) or self.units * self.rows * of_row <= WHOLE * more
        rows, units = self.rows, self.units
        if not is_whole:
            least = -(-self.rows // MOST_BLOCKS)
            rows = min(rows, max(BLOCK * more // of_row, least, 1))
            if self.last is not None:
                rows = min(rows, max(CAUSAL_ROWS, least, -(-self.rows // 8)))
            most = max(BLOCK * more // (of_row * rows), 1)
            units = next(one for one in range(min(most, self.units), 0, -1) if self.units % one == 0)
        seen = [self._apart(one) for one in by_row]
        for begin in range(0, max(self.rows, 1), max(rows, 1)):
            end = min(begin + rows, self.rows)
            keys = self.keys if is_whole or self.last is None else min(max(self.last + end, 1), self.keys)
            of_rows = [self._cut(one, 3, begin, end) for one in seen]
            of_rows = [viewed(one, (*one.shape[:2], self.shared * (end - begin), one.shape[4])) for one in of_rows]
            k, v = (self._cut(one, 2, 0, keys) for one in (self.k, self.v))
            mask = None if self.mask is None else self._cut(self._cut(self.mask, 3, begin, end), 4, 0, keys)
            places = [] if self.last is None else [np.arange(begin, end)[:, None] + self.last, np.arange(keys)]
            held = [arrays.copy_from_host(one.astype(np.int32)) for one in places]
            if is_whole:
                block = AttentionBlock(of_rows, k, v, mask, held, self.shared, self.scale, self.softcap, self.wide)
                yield Rows(begin, end, keys, step(block))
                continue
            parts = [*of_rows, k, v]
            if mask is not None and mask.shape[0] > 1:
                parts.append(mask)
            else:
                held = [*held, *([] if mask is None else [mask])]
            parts = [viewed(one, (self.units // units, units, *one.shape[1:])) for one in parts]
            recurrence = self._recurrence(step, len(by_row), mask is not None)
            found, _ = recurrence(parts, [], held)
            yield Rows(begin, end, keys, [viewed(one, (self.units, *one.shape[2:])) for one in found])

    def _recurrence(self, step: Callable[[AttentionBlock], list[Any]], num_by_row: int, has_mask: bool) -> Any:
        """Return the recurrence that computes a step for blocks of some units, one after the other."""
        rest, is_causal = (self.shared, self.scale, self.softcap, self.wide), self.last is not None

        def of_block(parts: list[Any], _: list[Any], others: list[Any]) -> tuple[list[Any], list[Any]]:
            *by_row, k, v = parts[: num_by_row + 2]
            mask = ([*parts[num_by_row + 2 :], *others[2 * is_causal :]] or [None])[0]
            return step(AttentionBlock(by_row, k, v, mask, others[: 2 * is_causal], *rest)), []

        key = step.__module__, step.__qualname__, num_by_row, has_mask, is_causal, *rest
        return _RECURRENCES.keep(key, lambda: new_recurrence(of_block))

    def _apart(self, array: Any) -> Any:
        """Return an array of rows with the axes units, heads, shared, rows."""
        return viewed(array, (self.units, self.per, self.shared, self.rows, array.shape[-1]))

    def _cut(self, array: Any, axis: int, begin: int, end: int) -> Any:
        """Return a part of an array along an axis, unless it is all of it, or broadcast."""
        size = array.shape[axis]
        if size == 1 or (begin, end) == (0, size):
            return array
        return FUNCTIONS["slice"](array, *[slice(None)] * axis, slice(begin, end))


_RECURRENCES: Final = BoundedCache()
