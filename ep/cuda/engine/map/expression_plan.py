"""The plan of a launch of an Expression, which depends on shapes, strides and types."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from ep.common.primitive.broadcast import Dims, simplify_walk
from ep.common.primitive.strides import contiguous_strides, expanded_strides, span
from ep.common.stored_types import stored_as
from ep.cuda.compile.arithmetic import COMPUTE_BOUND, storage_arithmetic
from ep.cuda.compile.kernel_words import Words, flat
from ep.cuda.compile.launch_config import pack_elements
from ep.cuda.engine.map.plan import ChosenRows, MapPlan, MapShape, MapWords, map_plan
from ep.include.data_type import DataType
from ep.include.primitive.structure import ChoiceOp, Step, Structure

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
    arrays: Sequence[Layout | None],
    itemsizes: Sequence[int],
    num_results: int,
    dims: Dims,
    chosen: Collection[int] = (),
) -> ExpressionShape:
    """Return the shape of a launch over `dims`, to which all arrays broadcast; None is a number, which has no address.

    chosen: the numbers of sources of which rows are chosen; the axes of a row broadcast.
    """
    number = len(arrays)
    if 0 in dims:
        return ExpressionShape(MapShape((), (), (0,) * number, ()), num_results, ((0, 0),) * number)
    layouts = [array or Layout((), ()) for array in arrays]
    whole = [span(layout.shape, layout.steps()) for layout in layouts]
    spans = tuple((low * size, (high + 1) * size) for (low, high), size in zip(whole, itemsizes, strict=True))
    of_rows, layouts = rows_of(layouts, chosen)
    steps = [expanded_strides(layout.shape, layout.steps(), len(dims)) for layout in layouts]
    ends = [span(dims, each) for each in steps]
    order = sorted(range(len(dims)), key=lambda axis: -abs(steps[num_results - 1][axis]))
    ordered = [tuple(each[axis] for axis in order) for each in (dims, *steps[num_results:], *steps[:num_results])]
    walk, *strides = simplify_walk(*ordered)
    counts = tuple(high - low + 1 for low, high in (*ends[num_results:], *ends[:num_results]))
    found = tuple(one._replace(place=one.place - num_results) for one in of_rows)
    return ExpressionShape(MapShape(walk, strides, counts, (), found), num_results, spans)


def rows_of(layouts: Sequence[Layout], chosen: Collection[int]) -> tuple[tuple[ChosenRows, ...], list[Layout]]:
    """Return the rows of the arrays that are chosen, by number, and the layouts of all arrays, of those one row."""
    rows = tuple(ChosenRows(k, layouts[k].shape[0], layouts[k].steps()[0]) for k in sorted(chosen))
    return rows, [
        Layout(layout.shape[1:], layout.steps()[1:]) if k in chosen else layout for k, layout in enumerate(layouts)
    ]


def walk_in_order(sources: Sequence[Layout | None], dims: Dims, chosen: Collection[int] = ()) -> MapShape:
    """Return the shape of a walk over `dims`, none of which is 0, in C order; None is a number. It has no results.

    chosen: as for `expression_shape`.
    """
    of_rows, layouts = rows_of([array or Layout((), ()) for array in sources], chosen)
    steps = [expanded_strides(layout.shape, layout.steps(), len(dims)) for layout in layouts]
    ends = [span(dims, each) for each in steps]
    walk, *strides = simplify_walk(dims, *steps)
    return MapShape(walk, strides, tuple(high - low + 1 for low, high in ends), (), of_rows)


class Operands(NamedTuple):
    """The operands of a kernel.

    structure: what it computes of them: without choices, each of which is a source of its own here, followed by one for
        the indices, which no step reads.
    sources: the numbers of the operands among the sources of the original structure.
    chosen: the operands of which rows are chosen.
    """

    structure: Structure
    sources: tuple[int, ...]
    chosen: tuple[int, ...]

    def sides(self, given: Sequence[Any]) -> list[Any]:
        """Return what belongs to results and operands; given: what belongs to results, then to all sources."""
        first = len(self.structure.results)
        return [*given[:first], *(given[first + one] for one in self.sources)]

    @property
    def indices(self) -> set[int]:
        """The operands that choose, and are read one by one."""
        return {place + 1 for place in self.chosen}

    def data_types(self) -> list[DataType]:
        """Return the types of the operands that are read by packs."""
        return [stored_as(each) for k, each in enumerate(self.structure.sources) if k not in self.indices]

    def pack_bytes(self, elements: int) -> list[int]:
        """Return the bytes that are read of each operand at once."""
        sizes = enumerate(each.itemsize for each in self.structure.sources)
        return [size if k in self.indices else elements * size for k, size in sizes]

    def usual_layouts(self, rows: int = 1) -> list[Layout]:
        """Return layouts of operands for whole rows of some length."""
        row, index = Layout((rows, 1024), None), Layout((rows, 1), None)
        layouts = [index if k in self.indices else row for k in range(len(self.sources))]
        return [Layout((1, 1, 1024), None) if k in self.chosen else each for k, each in enumerate(layouts)]

    def words(self, sides: Sequence[Any], chosen: Sequence[ChosenRows]) -> Words:
        """Return the two words of each operand; sides: an address for each, or the words of a number."""
        words = [word for side in sides for word in (side if isinstance(side, tuple) else (side, 0))]
        for place, num_rows, stride in chosen:
            words[2 * place + 1] = stride * self.structure.data_type(place).itemsize
            words[2 * place + 3] = num_rows
        return tuple(words)


def operands_of(structure: Structure) -> Operands:
    """Return the operands of a structure's kernel."""
    num_sources, first = len(structure.sources), len(structure.sources) + len(structure.constants)
    if not structure.chosen:
        return Operands(structure, tuple(range(num_sources)), ())
    choices = {k: step.operands for k, step in enumerate(structure.steps, first) if step.op is ChoiceOp.kRow}
    read = {one for k, step in enumerate(structure.steps, first) if k not in choices for one in step.operands}
    plain = [one for one in range(num_sources) if one in read and one not in structure.chosen]
    sources = (*plain, *(one for pair in choices.values() for one in pair))
    numbers = {one: k for k, one in enumerate(plain)}
    numbers |= {step: len(plain) + 2 * k for k, step in enumerate(choices)}
    numbers |= {num_sources + k: len(sources) + k for k in range(len(structure.constants))}
    steps = list[Step]()
    for k, step in enumerate(structure.steps, first):
        if k not in choices:
            numbers[k] = len(sources) + len(structure.constants) + len(steps)
            steps.append(step._replace(operands=tuple(numbers[one] for one in step.operands)))
    reduced = structure.are_reduced()
    found = Structure(
        tuple(structure.sources[one] for one in sources),
        structure.constants,
        tuple(steps),
        tuple(numbers[one] for one in structure.results),
        tuple(k for k, one in enumerate((*plain, *(one for step in choices for one in (step, step)))) if reduced[one]),
    )
    return Operands(found, sources, tuple(range(len(plain), len(sources), 2)))


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
        self.operands = operands = operands_of(structure)
        self._num_results = len(structure.results)
        results = [stored_as(structure.data_type(value)) for value in structure.results]
        self._takes_packs = takes_packs(structure)
        self._elements = elements_of_pack(operands.data_types(), results) if self._takes_packs else 1
        self._pack_bytes = [self._elements * each.itemsize for each in results] + operands.pack_bytes(self._elements)
        row = Layout((1, 1024), None)
        sides = [*[row] * len(results), *operands.usual_layouts()]
        self.usual = self.launch(self.walk(sides, row.shape), [0] * len(sides))[0].variant

    def walk(self, layouts: Sequence[Layout | None], dims: Dims) -> MapShape:
        """Return the walk over `dims`, which has elements; layouts: those of the kernel's sides."""
        chosen = [self._num_results + one for one in self.operands.chosen]
        return expression_shape(layouts, [1] * len(layouts), self._num_results, dims, chosen).walk

    def launch(self, walk: MapShape, sides: Sequence[Any]) -> tuple[MapPlan, tuple[int, ...]]:
        """Return the plan of a launch over a walk with elements, and the words of its kernel; sides: the kernel's."""
        results, sources = sides[: self._num_results], sides[self._num_results :]
        aligned = are_aligned(sources, self._pack_bytes[self._num_results :])
        for side, pack in zip(results, self._pack_bytes, strict=False):
            aligned.append(self._takes_packs and not side % pack)
        plan = walk.plans.get(key := tuple(aligned))
        if plan is None:
            plan = walk.plans[key] = map_plan(walk, key, self._elements, self._num_results)
        words = self.operands.words(sources, walk.chosen)
        return plan, tuple(flat(MapWords(words, tuple(results), plan.packs, walk.num_elements, 0, 0, plan.words)))
