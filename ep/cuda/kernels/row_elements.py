"""The elements of a row in the source code of a kernel: loads, stores, and values kept between passes.

A value with one number per row is named `v` and its number; element k of a pack of another value `x`, its number and
`_k`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ep.common.stored_types import stored_as
from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.conversion import opaque
from ep.cuda.compile.index_range import place_in_range
from ep.cuda.compile.memory import GLOBAL, SHARED, loader, storer
from ep.cuda.compile.numba_cuda import barrier, block_of_grid, blocks_of_grid, next_index, thread_of_block
from ep.cuda.compile.walk import walk
from ep.cuda.engine.reduce.row_expression_plan import (
    RowExpressionVariant,
    RowExpressionWords,
    Storage,
    Way,
    kept_areas,
    kept_type,
)
from ep.cuda.engine.reduce.row_program import ChosenElement, RowProgram
from ep.include.data_type import DataType


class RowElements:
    """The source code for a variant of a program. names: the objects that it refers to."""

    def __init__(self, program: RowProgram, variant: RowExpressionVariant) -> None:
        self._program, self._variant, self._structure = program, variant, program.structure
        self._results, self._num_sources = self._structure.results, len(self._structure.sources)
        ways = variant.ways
        self._result_ways, self._source_ways = ways[: len(self._results)], ways[len(self._results) :]
        # values that a thread keeps may be read by others
        self._meets = len({*zip(variant.threads, variant.elements, strict=True)}) > 1
        self._areas, self._chosen = kept_areas(program, variant), program.operands.chosen
        self._area_of = {value: k for k, area in enumerate(self._areas) for value in area}
        self._kept_space = GLOBAL if variant.kept is Storage.MEMORY else SHARED
        self._last = len(program.passes) - 1
        self._has_element_results = not all(program.reduced[value] for value in self._results)
        self.names: dict[str, Any] = {
            "thread_of_block": thread_of_block,
            "block_of_grid": block_of_grid,
            "blocks_of_grid": blocks_of_grid,
            "next_index": next_index,
            "barrier": barrier,
            "opaque": opaque,
            "RowExpressionWords": RowExpressionWords,
            "np": np,
            "offsets": walk(variant.num_axes, max(variant.places) + 1, variant.bits),
        }
        strided = [side for side, way in enumerate(ways) if way is Way.STRIDED]
        self._strides = {side: f"words.strides[{k}]" for k, side in enumerate(strided)}

    def _data_type(self, value: int) -> DataType:
        return stored_as(self._structure.data_type(value))

    def _zero(self, value: int) -> Any:
        return storage_arithmetic(self._data_type(value))(0)

    def _name(self, value: int, k: int) -> str:
        """Element k of a value or of exponentials, or its number of the row."""
        if value < 0:
            return f"e{~value}_{k}"
        return f"x{value}_{k}" if self._has_elements(value) else f"v{value}"

    def _has_elements(self, value: int) -> bool:
        if value < self._num_sources:
            return self._source_ways[value].has_elements
        return not self._program.reduced[value]

    def _of_chosen(self) -> Iterator[str]:
        """Yield the addresses of rows that are chosen by one index each, and the values that are one element of one."""
        for value in self._chosen:
            self._name_chosen(value)
            if self._has_elements(value + 1):
                continue
            yield f"r{value}, is{value} = place_of(v{value + 1}, 0, words.sources[{2 * value + 3}])"
            yield f"b{value} += (r{value} if is{value} else 0) * words.sources[{2 * value + 1}]"
            if not self._has_elements(value):
                yield f"v{value} = load{value}(b{value}, 0)[0] if is{value} else zero{value}"

    def _name_chosen(self, value: int) -> None:
        types = self._data_type(value), self._data_type(value + 1)
        self.names |= {f"load{value + k}": loader(each, 1) for k, each in enumerate(types)}
        self.names |= {"place_of": place_in_range(), f"zero{value}": self._zero(value)}

    def _read_chosen(self, value: int, count: int, is_pack: bool) -> Iterator[str]:
        """Yield elements of rows of which each is chosen by an index of its own."""
        for k in range(count):
            index, place = self._at(value + 1, k, count, is_pack), self._at(value, k, count, is_pack)
            yield f"j{value} = load{value + 1}(b{value + 1}, {index})[0]"
            yield f"r{value}, is{value} = place_of(j{value}, 0, words.sources[{2 * value + 3}])"
            yield f"c{value} = b{value} + (r{value} if is{value} else 0) * words.sources[{2 * value + 1}]"
            yield f"x{value}_{k} = load{value}(c{value}, {place})[0] if is{value} else zero{value}"

    def _at(self, source: int, k: int, count: int, is_pack: bool) -> str:
        """Return the place of an element of a source in its row."""
        stride = self._strides.get(len(self._results) + source)
        return f"({_place(k, count, is_pack)})" + (f" * {stride}" if stride else "")

    def _read(self, value: int, number: int, count: int, is_pack: bool) -> Iterator[str]:
        """Yield the elements of a value from an array, or from an earlier pass."""
        is_source = value < self._num_sources
        if is_source and not self._has_elements(value):
            return
        if not is_source or (value in self._area_of and number > self._program.read_in(value)[0]):
            yield from self._get(value, count, is_pack)
            return
        yield from self._load(value, count, is_pack)
        if value in self._area_of:
            yield from self._keep(value, count, is_pack)

    def _load(self, value: int, count: int, is_pack: bool) -> Iterator[str]:
        """Yield the elements of a source from its array."""
        data_type, way = self._data_type(value), self._source_ways[value]
        if value in self._chosen and self._has_elements(value + 1):
            yield from self._read_chosen(value, count, is_pack)
            return
        or_zero = f" if is{value} else zero{value}" if value in self._chosen else ""
        if way is Way.PACKS and is_pack:
            self.names[f"load{value}_{count}"] = loader(data_type, count)
            yield f"p{value} = load{value}_{count}(b{value}, i)"
        self.names[f"load{value}"] = loader(data_type, 1)
        for k in range(count):
            if way is Way.PACKS and is_pack:
                yield f"x{value}_{k} = p{value}[{k}]{or_zero}"
                continue
            yield f"x{value}_{k} = load{value}(b{value}, {self._at(value, k, count, is_pack)})[0]{or_zero}"

    def _read_one(self, part: ChosenElement) -> Iterator[str]:
        """Yield the elements of sources, in the place that an index chooses, from which an element is computed."""
        n, sources = part.written, [value for value in part.sources if self._has_elements(value)]
        self.names |= {"place_of": place_in_range(), f"zero{n}": self._zero(n)}
        yield f"r{n}, is{n} = place_of(v{part.place}, 0, own)"
        for value in sources:
            self.names[f"zero{value}"] = self._zero(value)
            yield f"c{n}_{value} = zero{value}"
        yield f"if is{n}:"
        yield f"    e = r{n}"
        for value in sources:
            yield from (f"    {line}" for line in self._load(value, 1, is_pack=False))
            yield f"    c{n}_{value} = x{value}_0"

    def _use_one(self, part: ChosenElement) -> Iterator[str]:
        """Yield the code by which the elements of sources that have been read for one element become those in use."""
        for value in filter(self._has_elements, part.sources):
            yield f"x{value}_0 = c{part.written}_{value}"

    def _write(self, result: int, value: int, count: int, is_pack: bool) -> Iterator[str]:
        data_type = self._data_type(value)
        if self._result_ways[result] is Way.PACKS and is_pack:
            self.names[f"store{result}_{count}"] = storer(data_type, count)
            pack = "".join(f"{self._name(value, k)}, " for k in range(count))
            yield f"store{result}_{count}(d{result}, i, ({pack}))"
            return
        self.names[f"store{result}"] = storer(data_type, 1)
        stride = self._strides.get(result)
        for k in range(count):
            place = f"({_place(k, count, is_pack)})" + (f" * {stride}" if stride else "")
            yield f"store{result}(d{result}, {place}, ({self._name(value, k)},))"

    # values kept between passes

    def _keep(self, value: int, count: int, is_pack: bool) -> Iterator[str]:
        put = f"put_{self._area_of[value]}_{count}"
        self.names[put] = storer(kept_type(self._program, value), count, space=self._kept_space)
        pack = "".join(f"{self._name(value, k)}, " for k in range(count))
        yield f"{put}(m{self._area_of[value]}, {'i' if is_pack else 'e'}, ({pack}))"

    def _get(self, value: int, count: int, is_pack: bool) -> Iterator[str]:
        get = f"get_{self._area_of[value]}_{count}"
        self.names[get] = loader(kept_type(self._program, value), count, space=self._kept_space)
        yield f"pack = {get}(m{self._area_of[value]}, {'i' if is_pack else 'e'})"
        for k in range(count):
            yield f"{self._name(value, k)} = pack[{k}]"


def _place(k: int, count: int, is_pack: bool) -> str:
    """Return the number of an element in its row: of pack i, or element e."""
    return f"i * {count} + {k}" if is_pack else "e"
