"""The plan of a launch over the rows of an Expression, which depends on layouts and addresses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any, Final, NamedTuple

from ep.common.primitive.broadcast import Dims, simplify_walk
from ep.common.primitive.movement import fits_32_bit_offsets
from ep.common.primitive.strides import expanded_strides, span
from ep.common.stored_types import stored_as
from ep.cuda.compile.kernel_words import Words, flat, walk_words
from ep.cuda.compile.launch_config import BLOCK_THREADS, MAX_BLOCKS, PACK_BYTES, Grid, row_elements
from ep.cuda.engine.map.expression_plan import Layout, rows_of
from ep.cuda.engine.reduce.plan import elements_of_rows, row_threads
from ep.cuda.engine.reduce.row_plan import MERGE_BYTES, threads_of_row
from ep.cuda.engine.reduce.row_program import RowProgram, Sharing, Softmax
from ep.include.data_type import DataType

_MOST_BLOCKS: Final = 512
"""The largest number of blocks of a launch that keeps values in memory, with a separate part for each block."""


class Way(Enum):
    """The layout of the elements of a row in an array."""

    NUMBER = "one number for all rows, given by the host"
    ONE = "one element for a row"
    PACKS = "adjacent, whole packs at multiples of their bytes"
    ADJACENT = "adjacent"
    STRIDED = "a stride apart"

    __hash__ = object.__hash__

    @property
    def has_elements(self) -> bool:
        """Whether an array has elements along rows."""
        return self in (Way.PACKS, Way.ADJACENT, Way.STRIDED)


class Storage(Enum):
    """The place of values between two passes."""

    SOURCES = "in shared memory, sources and exponentials too"
    VALUES = "in shared memory, and sources are read again"
    MEMORY = "in memory of the launch, and sources are read again"

    __hash__ = object.__hash__


class RowExpressionVariant(NamedTuple):
    """A kernel for the rows of a structure.

    ways: of results, then of sources. threads: of a row, for each sharing of the program; elements: of the packs that
    these take in turns. kept: where values are.
    again: the sources that a pass reads once more if they are not kept: those with elements of their own in each row.
    late: the results that are written in the last pass, or after a barrier if they are numbers of rows, since they may
        overlap a source that is read until then.
    num_axes, bits, places: of the walk over rows, and which of its offsets each array takes.
    """

    ways: tuple[Way, ...]
    threads: tuple[int, ...]
    elements: tuple[int, ...]
    kept: Storage
    again: tuple[int, ...]
    late: tuple[int, ...]
    num_axes: int
    bits: int
    places: tuple[int, ...]

    @property
    def row_threads(self) -> int:
        """The threads of a row; in a pass of fewer threads, the others have no elements."""
        return max(self.threads)

    @property
    def block_rows(self) -> int:
        """The rows of a block."""
        return BLOCK_THREADS // self.row_threads

    @property
    def has_exponentials(self) -> bool:
        """Whether a softmax keeps its exponentials: where memory is short, it computes them again."""
        return self.kept is Storage.SOURCES


class RowExpressionWords(NamedTuple):
    """The words of a kernel. sources: as in `MapWords`; strides: of each array whose elements are a stride apart,
    results first; walk: over rows; kept: the address of the memory for values, if there is any.
    """

    sources: Words
    results: Words
    strides: Words
    rows: int
    cols: int
    walk: Words
    kept: Words


class RowLaunch(NamedTuple):
    """A launch. words: of the kernel. kept_bytes: of memory for what is kept, whose address follows them; mostly 0."""

    variant: RowExpressionVariant
    grid: Grid
    words: tuple[int, ...]
    kept_bytes: int


def exponentials(softmax: Softmax) -> int:
    """Return the number for the exponentials of a softmax in the place of that of a value."""
    return ~softmax.written


def kept_areas(program: RowProgram, variant: RowExpressionVariant) -> list[list[int]]:
    """Return the areas of memory, each with the values, or exponentials, that use it one after the other.

    Those of the largest elements are first: so the packs of all areas are aligned, without gaps between the areas.
    """
    structure, passes = program.structure, len(program.passes)
    late = {structure.results[k] for k in variant.late}
    times: dict[int, tuple[int, int]] = {}  # in a pass, first values are read, then others computed
    for value in range(len(program.reduced)):
        read = program.read_in(value, variant.has_exponentials)
        if program.is_computed(value) and (read or value in late):
            times[value] = 2 * program.made_in(value) + 1, 2 * (passes if value in late else read[-1])
        elif variant.kept is Storage.SOURCES and value in variant.again and len(read) > 1:
            times[value] = 2 * read[0], 2 * read[-1]
    for softmax, made, read_by in program.exponentials if variant.has_exponentials else ():
        times[exponentials(softmax)] = 2 * made + 1, 2 * read_by
    areas: list[list[int]] = []
    for value in sorted(times, key=times.__getitem__):
        size, (begin, _) = element_bytes(program, [value]), times[value]
        free = (each for each in areas if element_bytes(program, each) == size and times[each[-1]][1] < begin)
        area = next(free, None)
        if area is None:
            areas.append(area := [])
        area.append(value)
    return sorted(areas, key=lambda area: -element_bytes(program, area))


def element_bytes(program: RowProgram, area: Sequence[int]) -> int:
    """Return the bytes of an element of the values in an area."""
    return kept_type(program, area[0]).itemsize


def kept_type(program: RowProgram, value: int) -> DataType:
    """Return the data type that elements of a value, or exponentials, are kept in."""
    if value >= 0:
        return stored_as(program.structure.data_type(value))
    data_type = program.structure.data_type(~value)
    return DataType.kFloat if data_type.itemsize == 2 else data_type


def kept_bytes(program: RowProgram, variant: RowExpressionVariant, cols: int) -> int:
    """Return the bytes of what a block keeps of its rows, a multiple of those of the widest access."""
    width = max(variant.elements)
    stride = (-(-cols // width) | 1) * width  # threads of a warp that have several rows access different banks
    size = sum(element_bytes(program, area) for area in kept_areas(program, variant))
    return -(-stride * variant.block_rows * size // PACK_BYTES) * PACK_BYTES


def _division(sharing: Sharing, rows: int, cols: int) -> tuple[int, int]:
    """Return the threads of a row, and the elements of their packs: those that the primitive has for it."""
    pack, softmax = sharing
    if cols == 1:  # each thread of a row would read the element, which one of them may overwrite
        return 1, 1
    if softmax is not None:
        return threads_of_row(softmax, cols)[0], row_elements(cols, pack)
    elements = elements_of_rows(rows, cols, pack)
    return row_threads(cols // elements, elements, pack), elements


class RowExpressionPlan:
    """The plan for the layouts of a launch; addresses add the rest."""

    def __init__(self, program: RowProgram, layouts: Sequence[Layout | None], dims: Dims) -> None:
        """layouts: of results, then of sources; None is a number."""
        self._program = program
        first = self._first = len(program.structure.results)
        chosen = [first + one for one in program.operands.chosen]
        of_rows, given = rows_of([layout or Layout((), ()) for layout in layouts], chosen)
        self._chosen = [one._replace(place=one.place - first) for one in of_rows]
        steps = [expanded_strides(layout.shape, layout.steps(), len(dims)) for layout in given]
        self._inner = [each[-1] for each in steps]
        self._rows, self._cols = math.prod(dims[:-1]), dims[-1]
        over_rows = [each[:-1] for each in steps]
        walk, *strides = simplify_walk(dims[:-1], *over_rows) if dims[1:] else ((1,), *[(0,)] * len(steps))
        offsets = list(dict.fromkeys(strides))
        ends = [span(dims, each) for each in steps]
        small = fits_32_bit_offsets(*(high - low + 1 for low, high in ends)) and fits_32_bit_offsets(self._rows)
        small &= all(step >= 0 for each in steps for step in each)
        self._bits = 32 if small else 64
        self._num_axes, self._places = len(walk), tuple(map(offsets.index, strides))
        self._words = walk_words(walk, offsets, self._bits)
        self._is_one_row = [not any(each) and k not in chosen for k, each in enumerate(strides)]
        divisions = [_division(sharing, self._rows, self._cols) for sharing in program.sharings] or [(1, 1)]
        self._threads, self._elements = (tuple(each) for each in zip(*divisions, strict=True))
        # packs are aligned if rows are
        self._width = width = max(self._elements)
        self._has_packs = [not any(step % width for step in each) for each in strides]
        self._ways = [
            Way.NUMBER if layout is None else Way.ONE if not step else Way.ADJACENT if step == 1 else Way.STRIDED
            for layout, step in zip(layouts, self._inner, strict=True)
        ]
        for k, value in enumerate(program.structure.results):
            if not program.reduced[value] and self._ways[k] is Way.ONE:  # rows of one element
                self._ways[k] = Way.ADJACENT
        for place, _, stride in of_rows:
            self._has_packs[place] &= stride % width == 0
            if self._ways[place + 1].has_elements:  # each element may be of another row
                self._has_packs[place] = False
                if self._ways[place] is Way.ONE:
                    self._ways[place] = Way.STRIDED
        sources = range(len(layouts) - self._first)
        self._again = tuple(
            one
            for one in sources
            if self._ways[self._first + one].has_elements
            and not self._is_one_row[self._first + one]
            and len(program.read_in(one)) > 1
        )
        self._late = tuple(k for k, value in enumerate(program.structure.results) if self._is_late(k, value, steps))
        self._launches: dict[tuple[tuple[bool, ...], int], tuple[RowExpressionVariant, Grid, int]] = {}

    def _is_late(self, result: int, value: int, strides: Sequence[Dims]) -> bool:
        """Whether threads may read a source that may overlap a result after the pass that computes the result, or, if
        it is a number of the row, after the row's first thread has it."""
        program, structure = self._program, self._program.structure
        if program.reduced[value]:  # written after all passes
            size = structure.data_type(value).itemsize
            return max(self._threads) > 1 and any(
                way is Way.ONE and structure.data_type(one).itemsize == size and steps == strides[result]
                for one, (way, steps) in enumerate(zip(self._ways[self._first :], strides[self._first :], strict=True))
            )
        made = program.made_in(value)
        return any(
            strides[result] == strides[self._first + one] and max(program.read_in(one), default=-1) > made
            for one in range(len(strides) - self._first)
        )

    def launch(self, sides: Sequence[Any], shared_bytes: int) -> RowLaunch:
        """Return the launch for sides, each an address or a number; shared_bytes: the largest shared memory of a
        block."""
        structure, width = self._program.structure, self._width
        values = (*structure.results, *range(len(structure.sources)))
        packs = tuple(
            way is Way.ADJACENT and self._has_packs[k] and not sides[k] % (width * structure.data_type(value).itemsize)
            for k, (way, value) in enumerate(zip(self._ways, values, strict=True))
        )
        known = self._launches.get((packs, shared_bytes))
        if known is None:
            known = self._launches[packs, shared_bytes] = self._made(packs, shared_bytes)
        variant, grid, kept_bytes = known
        strides = [step for step, way in zip(self._inner, self._ways, strict=True) if way is Way.STRIDED]
        sources, results = sides[self._first :], sides[: self._first]
        of_sources = self._program.operands.words(sources, self._chosen)
        layout = of_sources, tuple(results), tuple(strides), self._rows, self._cols, self._words
        return RowLaunch(variant, grid, tuple(flat(RowExpressionWords(*layout, ()))), kept_bytes)

    def _made(self, packs: Sequence[bool], shared_bytes: int) -> tuple[RowExpressionVariant, Grid, int]:
        program = self._program
        ways = tuple(Way.PACKS if is_pack else way for is_pack, way in zip(packs, self._ways, strict=True))
        walk = self._num_axes, self._bits, self._places
        for kept in Storage:
            variant = RowExpressionVariant(ways, self._threads, self._elements, kept, self._again, self._late, *walk)
            size = kept_bytes(program, variant, self._cols)
            if size <= shared_bytes - MERGE_BYTES:
                break
        blocks = min(-(-self._rows // variant.block_rows), MAX_BLOCKS)
        if variant.kept is not Storage.MEMORY:
            return variant, Grid((blocks, 1, 1), shared_bytes=size), 0
        blocks = min(blocks, _MOST_BLOCKS)
        return variant, Grid((blocks, 1, 1)), blocks * size
