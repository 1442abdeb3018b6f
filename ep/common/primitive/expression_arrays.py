"""Checks of the arrays of an Expression's launch: number, shapes and overlaps. All devices have the same messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from ep.common.primitive.broadcast import Dims, broadcast_dims
from ep.common.primitive.product import matrix_sizes
from ep.common.primitive.strides import SHARED, writes_once
from ep.common.primitive.windows import windows_of, windows_of_pool
from ep.include.errors import Argument, ArgumentError, ArgumentValueError
from ep.include.primitive.structure import Convolution, MaxPool, Structure, kMaxOperands, kMaxRow


class ExpressionDims(NamedTuple):
    """The dims of a launch, to which all its arrays broadcast.

    reduced: the same dims with 1 along the axes that reductions remove, or with an axis of segments in place of rows.
    """

    whole: Dims
    reduced: Dims

    @property
    def are_rows(self) -> bool:
        """Whether reductions remove the last axis alone, and it is short."""
        whole = self.whole
        return bool(whole) and self.reduced == (*whole[:-1], 1) and 0 < whole[-1] <= kMaxRow


class ExpressionArrays:
    """The arrays that launches of a structure receive. They are numbered: results, then sources.

    names: their names in errors. data_types: of their elements. matrices: the numbers of a product's operands.
    chosen: those of the arrays of which rows are chosen. segments: that of the segments of rows, or None.
    columns: those of sums of columns. contiguous: those that must be C-contiguous.
    """

    def __init__(self, structure: Structure) -> None:
        values = (*structure.results, *range(len(structure.sources)))
        self.num_results, self.num_sources = len(structure.results), len(structure.sources)
        self.names = [f"results[{k}]" for k in range(self.num_results)]
        self.names += [f"sources[{k}]" for k in range(self.num_sources)]
        self.data_types = tuple(structure.data_type(value) for value in values)
        self._has_rows, self._reduces_alone = structure.has_rows, structure.reduces_alone
        self._product, self._pool = structure.product, structure.pool
        columns = structure.column_sums
        self.columns = frozenset(k for k, value in enumerate(structure.results) if value in columns)
        first = self.num_results
        self.matrices = range(first, first + 2) if self._product is not None else range(0)
        self.chosen = frozenset(first + source for source in structure.chosen)
        reduced, adds = structure.are_reduced(), structure.segment_sum
        self._is_reduced = [self._has_rows and reduced[value] for value in values]
        self._adds: Any = None if adds is None else adds.op
        self.segments = None if adds is None else first + adds.operands[1]
        self.contiguous = {*self.matrices} if self.segments is None else {self.segments}
        self.contiguous |= self.columns
        self._apart = dict.fromkeys(self.matrices, "a matrix of a product")
        if self._pool is not None:
            self.contiguous.add(0)
            self._apart |= dict.fromkeys(range(first + 2, len(values)), "of which windows are read")
        self._apart |= dict.fromkeys(self.chosen, "of which rows are chosen")
        if adds is not None:
            whole = (k for k in range(first, len(values)) if not self._is_reduced[k])
            self._apart |= dict.fromkeys(whole, "of which segments are added up")

    def check_number(self, num_results: int, num_sources: int) -> None:
        """Raise ValueError if the structure has another number of arrays, or one that no launch accepts."""
        if (num_results, num_sources) != (self.num_results, self.num_sources):
            expected = f"{self.num_results} results and {self.num_sources} sources"
            raise ValueError(f"{num_results} results and {num_sources} sources; it takes {expected}")
        if num_results + num_sources > kMaxOperands:
            raise ValueError(f"there are {num_results + num_sources} arrays; a launch takes {kMaxOperands} at most")

    def dims(self, shapes: Sequence[Dims]) -> ExpressionDims:
        """Return the dims of a launch of arrays with these shapes. Raises ValueError if the shapes do not fit."""
        for k in self.chosen:
            if not shapes[k] or not shapes[k][0]:
                raise ArgumentValueError(
                    self.names[k], f"has shape {shapes[k]}; it must have rows, of which some are read"
                )
        shapes = [shape[1:] if k in self.chosen else shape for k, shape in enumerate(shapes)]
        found = self._dims(shapes) if self._adds is None else self._segment_dims(shapes)
        if self._adds is None and self._has_rows and not found.are_rows:
            removed = [size for size, one in zip(*found, strict=True) if one != size]
            if not self._reduces_alone or 0 in removed or not removed:
                raise ArgumentValueError(
                    self.names[0], f"and all others broadcast to {found.whole}; rows have 1 to {kMaxRow} elements"
                )
        for k, (shape, name) in enumerate(zip(shapes, self.names, strict=True)):
            if k == self.segments:
                continue
            wanted = found.reduced if self._is_reduced[k] else found.whole
            if k in self.columns:
                if 0 in found.whole:
                    raise ArgumentValueError(name, f"has sums of columns of shape {found.whole}; there must be rows")
                wanted = (*[1] * (len(wanted) - 1), *wanted[-1:])
            if self._pool is not None and k == 0:
                wanted = self._pooled(self._pool, found.whole)
            if k < self.num_results and shape != wanted:
                raise ArgumentValueError(name, f"has shape {shape}; it must be {wanted}")
            if self._is_reduced[k] and _joined(shape, wanted) != wanted:
                raise ArgumentValueError(name, f"has shape {shape}; it must broadcast to {wanted}")
        return found

    def _dims(self, shapes: Sequence[Dims]) -> ExpressionDims:
        """Return the dims that all arrays broadcast to: the shape of the first result, if there are no rows.

        If windows of a convolution are reduced, it is the shape of the convolution.
        """
        whole, pools = self._check_matrices(shapes), self._pool is not None
        for k, (shape, name) in enumerate(zip(shapes, self.names, strict=True)):
            if k in self.matrices or (pools and k == 0):
                continue
            joined = _joined(whole, shape)
            if joined is None or (not self._has_rows and joined != whole):
                raise ArgumentValueError(name, f"has shape {shape}, which does not broadcast to {whole}")
            whole = joined
        for shape, is_reduced in zip(shapes[: self.num_results], self._is_reduced, strict=False):
            if is_reduced and len(shape) == len(whole):
                reduced = tuple(1 if size == 1 else all_ for size, all_ in zip(shape, whole, strict=True))
                return ExpressionDims(whole, reduced)
        return ExpressionDims(whole, (*whole[:-1], 1) if whole else ())

    def _segment_dims(self, shapes: Sequence[Dims]) -> ExpressionDims:
        """Return the dims that the arrays broadcast to whose segments are added up, and those of the results."""
        batch, outer, rows = self._adds
        whole: Dims = ()
        for k, (shape, name) in enumerate(zip(shapes, self.names, strict=True)):
            if k != self.segments and not self._is_reduced[k]:
                joined = _joined(whole, shape)
                if joined is None:
                    raise ArgumentValueError(name, f"has shape {shape}, which does not broadcast with {whole}")
                whole = joined
        first, last = batch + outer, batch + outer + rows
        assert self.segments is not None
        wanted, given = (*whole[:batch], *whole[first:last]), shapes[self.segments]
        if given != wanted or len(whole) < last:
            raise ArgumentValueError(self.names[self.segments], f"has shape {given}; it must be {wanted}")
        if 0 in whole[first:last]:
            raise ArgumentValueError(self.names[self.segments], f"has shape {given}; there must be rows")
        segments = shapes[0][first : first + 1]
        if not segments:
            raise ArgumentValueError(self.names[0], f"has shape {shapes[0]}, without an axis of segments")
        return ExpressionDims(whole, (*whole[:first], *segments, *whole[last:]))

    def _check_matrices(self, shapes: Sequence[Dims]) -> Dims:
        """Return the shape of the values: that of the results, or of a convolution of which windows are reduced.

        Raises ValueError if a product does not have this shape.
        """
        whole = shapes[0]
        if self._product is None:
            return whole
        a, b = (shapes[k] for k in self.matrices)
        if isinstance(self._product, Convolution):
            wanted = self._convolved(self._product, a, b)
            if self._pool is None and whole != wanted:
                raise ArgumentValueError(self.names[0], f"has shape {whole}; the convolution has {wanted}")
            return wanted
        try:
            matrix_sizes(a, b, whole, *self._product)
            batches = broadcast_dims(a[:-2], b[:-2], names=_BATCHES)
        except ArgumentError as error:
            of_a, of_b = (self.names[k] for k in self.matrices)
            error.rename(
                {"a": of_a, "b": of_b, "a_dims": f"{of_a}.shape", "b_dims": f"{of_b}.shape", "c_dims": self.names[0]}
            )
            raise
        if batches != whole[:-2]:
            wanted = (*batches, *whole[-2:])
            raise ArgumentValueError(self.names[0], f"has shape {whole}; the product has {wanted}")
        return whole

    def _convolved(self, op: Convolution, x: Dims, w: Dims) -> Dims:
        """Return the shape of a convolution of x with w. Raises ValueError if there is none."""
        of_x, of_w = (self.names[k] for k in self.matrices)
        num_axes = len(op.strides) + 2
        for shape, name in ((x, of_x), (w, of_w)):
            if len(shape) != num_axes:
                raise ArgumentValueError(name, f"has shape {shape}; it must have {num_axes} axes")
        if 0 in w[2:] or w[0] % op.groups or x[1] != w[1] * op.groups:
            words = f"has shape {w}; for {op.groups} groups it does not fit", Argument(of_x), f"of shape {x}"
            raise ArgumentValueError(of_w, *words)
        return x[0], w[0], *windows_of(op, x, w).counts

    def _pooled(self, op: MaxPool, whole: Dims) -> Dims:
        """Return the shape of the largest elements of windows of a convolution. Raises ValueError if it is empty."""
        found = (*whole[:2], *windows_of_pool(op, whole).counts)
        if 0 in whole and 0 not in found:
            raise ArgumentValueError(self.names[0], f"has windows of a convolution without elements, of shape {whole}")
        return found

    def check_distinct(self, layouts: Sequence[tuple[Dims, Dims]]) -> None:
        """Raise ValueError if two elements of a result share memory; layouts: shapes, and strides in elements."""
        for name, (shape, strides) in zip(self.names[: self.num_results], layouts, strict=False):
            if not writes_once(shape, strides):
                raise ArgumentValueError(name, f"of shape {shape} and strides {strides} {SHARED}")

    def check_overlaps(self, places: Sequence[tuple[int, int]], are_same: Callable[[int, int], bool]) -> None:
        """Raise ValueError if a result overlaps another array, unless that is a source with exactly the same elements.

        places: of each array, the addresses of its first byte and of the byte after its last; equal if it is empty.
        are_same: returns whether two arrays, given by number, have each element at the same address.
        """
        for k, (begin, end) in enumerate(places[: self.num_results]):
            for j, (other_begin, other_end) in enumerate(places):
                if j == k or begin >= other_end or other_begin >= end or begin == end:
                    continue
                if j in self._apart:
                    raise ArgumentValueError(self.names[k], "overlaps", Argument(self.names[j]), self._apart[j])
                if j < self.num_results or k in self.columns or not are_same(k, j):
                    words = Argument(self.names[j]), "and is not the same elements in the same order"
                    raise ArgumentValueError(self.names[k], "overlaps", *words)


_BATCHES: Final = "a_dims[:-2]", "b_dims[:-2]"


def _joined(one: Dims, other: Dims) -> Dims | None:
    """Return the dims that two shapes broadcast to, or None."""
    try:
        return broadcast_dims(one, other)
    except ArgumentValueError:
        return None
