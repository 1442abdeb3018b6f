"""The plan of a launch of an Expression, which depends on shapes, strides and types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ep.common.primitive.broadcast import Dims, simplify_walk
from ep.common.primitive.strides import contiguous_strides, expanded_strides, span
from ep.common.stored_types import stored_as
from ep.cuda.compile.arithmetic import COMPUTE_BOUND, storage_arithmetic
from ep.cuda.compile.launch_config import pack_elements
from ep.cuda.engine.map.access import Access, Variant
from ep.cuda.engine.map.plan import MapPlan, MapShape, map_plan
from ep.include.data_type import DataType
from ep.include.primitive.structure import Structure

_REGISTERS: Final = 128
"""The registers of a thread for the elements that it reads at once: half of all."""


class Layout(NamedTuple):
    """The layout of an array's elements, from its address. strides: in elements; None if it is C-contiguous."""

    shape: Dims
    strides: Dims | None

    def steps(self) -> Dims:
        """Return the strides."""
        return contiguous_strides(self.shape) if self.strides is None else self.strides


class ExpressionShape(NamedTuple):
    """The plan for the layouts of a launch's arrays, which are numbered: results, then sources.

    walk: its sides are the sources and, last of all, the results.
    spans: for each array, the offsets from its address of the first byte of its elements and of the byte after the
    last.
    """

    walk: MapShape
    num_results: int
    spans: tuple[tuple[int, int], ...]

    def are_alike(self, one: int, other: int) -> bool:
        """Return whether the elements of two arrays have the same offsets from the address of the array."""
        strides = self.walk.strides  # the position in an array is shifted by this number, or counted from the end
        return self.spans[one] == self.spans[other] and (
            strides[one - self.num_results] == strides[other - self.num_results]
        )


def expression_shape(
    arrays: Sequence[Layout | None], itemsizes: Sequence[int], num_results: int, dims: Dims
) -> ExpressionShape:
    """Return the shape of a launch over `dims`, to which all arrays broadcast; None is a number, which has no
    address."""
    number = len(arrays)
    if 0 in dims:
        return ExpressionShape(MapShape((), (), (0,) * number, ()), num_results, ((0, 0),) * number)
    layouts = [array or Layout((), ()) for array in arrays]
    steps = [expanded_strides(layout.shape, layout.steps(), len(dims)) for layout in layouts]
    ends = [span(dims, each) for each in steps]
    spans = tuple((low * size, (high + 1) * size) for (low, high), size in zip(ends, itemsizes, strict=True))
    order = sorted(range(len(dims)), key=lambda axis: -abs(steps[num_results - 1][axis]))
    ordered = [tuple(each[axis] for axis in order) for each in (dims, *steps[num_results:], *steps[:num_results])]
    walk, *strides = simplify_walk(*ordered)
    counts = tuple(high - low + 1 for low, high in (*ends[num_results:], *ends[:num_results]))
    return ExpressionShape(MapShape(walk, strides, counts, ()), num_results, spans)


def walk_in_order(sources: Sequence[Layout | None], dims: Dims) -> MapShape:
    """Return the shape of a walk over `dims`, none of which is 0, in C order; None is a number. It has no results."""
    layouts = [array or Layout((), ()) for array in sources]
    steps = [expanded_strides(layout.shape, layout.steps(), len(dims)) for layout in layouts]
    ends = [span(dims, each) for each in steps]
    walk, *strides = simplify_walk(dims, *steps)
    return MapShape(walk, strides, tuple(high - low + 1 for low, high in ends), ())


def takes_packs(structure: Structure) -> bool:
    """Return whether a thread computes a pack at a time; if computing takes long, it computes one element."""
    return all(step.op not in COMPUTE_BOUND for step in structure.steps)


def elements_of_pack(sources: Sequence[DataType], results: Sequence[DataType]) -> int:
    """The elements that a thread processes at once: 16 bytes, fewer if there are too many arrays."""
    elements = pack_elements(*sources, *results)
    registers = sum(max(storage_arithmetic(each)().itemsize // 4, 1) for each in sources)
    while elements > 1 and elements * registers > _REGISTERS:
        elements //= 2
    return elements


def source_words(sources: Sequence[Any]) -> list[int]:
    """Return the two words of each source of a launch: an address, or the words of a number."""
    return [word for side in sources for word in (side if isinstance(side, tuple) else (side, 0))]


def are_aligned(sources: Sequence[Any], pack_bytes: Sequence[int]) -> list[bool | None]:
    """Return whether each source is aligned to its packs; None for a number."""
    return [
        None if isinstance(side, tuple) else not side % pack for side, pack in zip(sources, pack_bytes, strict=True)
    ]


class ExpressionMap:
    """The launches of the map engine that compute a structure.

    usual: the variant of most launches.
    """

    def __init__(self, structure: Structure) -> None:
        values, num_results = (*structure.results, *range(len(structure.sources))), len(structure.results)
        stored = [stored_as(structure.data_type(value)) for value in values]
        self._takes_packs, self._num_results = takes_packs(structure), num_results
        self._elements = elements_of_pack(stored[num_results:], stored[:num_results]) if self._takes_packs else 1
        self._pack_bytes = [self._elements * data_type.itemsize for data_type in stored]
        reads, writes = (Access.SAME,) * len(structure.sources), (Access.SAME,) * num_results
        self.usual = Variant(self._elements, reads, results=writes)

    def launch(self, walk: MapShape, sides: Sequence[Any]) -> tuple[MapPlan, tuple[int, ...]]:
        """Return the plan of a launch over a walk with elements, and the words of its kernel.

        sides: results, then sources.
        """
        results, sources = sides[: self._num_results], sides[self._num_results :]
        aligned = are_aligned(sources, self._pack_bytes[self._num_results :])
        for side, pack in zip(results, self._pack_bytes, strict=False):
            aligned.append(self._takes_packs and not side % pack)
        plan = walk.plans.get(key := tuple(aligned))
        if plan is None:
            plan = walk.plans[key] = map_plan(walk, key, self._elements, self._num_results)
        return plan, (*source_words(sources), *results, plan.packs, walk.num_elements, 0, 0, *plan.words)
