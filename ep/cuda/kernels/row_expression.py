"""Expressions with rows: passes over a row, as generated source code that calls the functors of the ops.

A reduction or a softmax has the number of its value: `s` is its state, `t` the maximum of a softmax, `u` the scale from
its sum. `RowElements` has the names of values.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

import numpy as np

from ep.common.primitive.stages import Stage
from ep.common.source import digest_of, function_of
from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.conversion import converter
from ep.cuda.compile.kernel_words import num_walk_words
from ep.cuda.compile.launch_config import PACK_BYTES
from ep.cuda.compile.math_library import higher
from ep.cuda.compile.memory import loader, storer, value_reader
from ep.cuda.compile.numba_cuda import shared_address
from ep.cuda.engine.reduce.accumulator import accumulator
from ep.cuda.engine.reduce.row_expression_plan import RowExpressionVariant, Storage, Way, element_bytes, exponentials
from ep.cuda.engine.reduce.row_program import ChosenElement, Pass, Reduced, RowProgram, Softmax
from ep.cuda.kernels.expression import functor
from ep.cuda.kernels.row_elements import RowElements
from ep.cuda.kernels.row_functions import merged, merged_sums, merged_tops, of_first, softmax_parts

_KERNEL: Final = """
def rows(words: RowExpressionWords):
    rows, cols, thread = words.rows, words.cols, thread_of_block()
    first, step = block_of_grid()[0] * {block_rows}, blocks_of_grid()[0] * {block_rows}
    {once}
    while first < rows:  # all threads of the block together: they meet at barriers
        row = first + thread // {row_threads}
        own = cols if row < rows else 0
        at = offsets(row if row < rows else rows - 1, words.walk)
        {of_row}
        first += step
"""

_PASS: Final = """
i, own_packs = lane, own{width} >> {shift}
while i < own_packs:
    {pack}
    i = next_index(i, {threads})
"""
_REST: Final = """
e = own_packs << {shift} if lane == 0 else own{width}
while e < own{width}:
    {element}
    e += 1
"""


@cache
def kernel(program: RowProgram, variant: RowExpressionVariant) -> KernelSource:
    """Return the kernel of the rows of a structure."""
    return _Text(program, variant).kernel()


class _Text(RowElements):
    """The source code of a kernel."""

    def kernel(self) -> KernelSource:
        variant = self._variant
        once, of_row = list(self._once()), list(self._of_row())
        text = _KERNEL.format(
            block_rows=variant.block_rows,
            row_threads=variant.row_threads,
            once="\n    ".join(once),
            of_row="\n        ".join(of_row),
        )
        num_walk = num_walk_words(variant.num_axes, max(variant.places) + 1)
        in_memory = variant.kept is Storage.MEMORY
        lengths = 2 * self._num_sources, len(self._results), len(self._strides), num_walk, int(in_memory)
        name = f"rows.expression.{digest_of(repr((self._structure, variant)))}{digest_of(text)}"
        function = function_of(text, "rows", __name__, self.names)
        return KernelSource(name, function, lengths, is_contracted=True)

    # values that are the same for all rows

    def _once(self) -> Iterator[str]:
        for value, way in enumerate(self._source_ways):
            if way is Way.NUMBER:
                self.names[f"number{value}"] = value_reader(storage_arithmetic(self._data_type(value)))
                yield f"v{value} = number{value}(words.sources[{2 * value}], words.sources[{2 * value + 1}])"
        yield f"lane = thread % {self._variant.row_threads}"
        if not self._areas:
            return
        variant, width, before = self._variant, max(self._variant.elements), 0
        sizes = [element_bytes(self._program, area) for area in self._areas]
        yield f"stride = ((cols + {width - 1} >> {width.bit_length() - 1}) | 1) * {width}"
        if variant.kept is Storage.MEMORY:
            bytes_of_block = f"(stride * {variant.block_rows * sum(sizes)} + {PACK_BYTES - 1} & -{PACK_BYTES})"
            yield f"kept = words.kept[0] + block_of_grid()[0] * {bytes_of_block}"
        else:
            self.names["shared_memory"] = shared_address()
            yield "kept = shared_memory()"
        row = f"thread // {variant.row_threads}"
        for k, size in enumerate(sizes):
            yield f"m{k} = kept + ({variant.block_rows * before} + {size} * ({row})) * stride"
            before += size

    # rows

    def _of_row(self) -> Iterator[str]:
        sides = [*((len(self._results) + k, way) for k, way in enumerate(self._source_ways))]
        for value, (side, way) in enumerate(sides):
            if way is Way.NUMBER:
                continue
            size, place = self._data_type(value).itemsize, self._variant.places[side]
            yield f"b{value} = words.sources[{2 * value}] + at[{place}] * {size}"
            if not way.has_elements and value not in self._chosen:
                self.names |= {f"load{value}": loader(self._data_type(value), 1), f"zero{value}": self._zero(value)}
                # threads without a row read nothing: others may have written a result there
                yield f"v{value} = load{value}(b{value}, 0)[0] if own > 0 else zero{value}"
        yield from self._of_chosen()
        for chosen in self._program.chosen:
            yield from self._read_one(chosen)
        if self._program.chosen and self._has_element_results and max(self._variant.threads) > 1:
            yield "barrier()"  # a result may be where other threads have read those elements
        for k, value in enumerate(self._results):
            size, place = self._data_type(value).itemsize, self._variant.places[k]
            yield f"d{k} = words.results[{k}] + at[{place}] * {size}"
        for width, threads in enumerate(self._variant.threads):
            is_part = threads < self._variant.row_threads
            yield f"own{width} = own if lane < {threads} else 0" if is_part else f"own{width} = own"
        number = 0
        for part in self._program.parts:
            if isinstance(part, Stage):
                yield from self._map(part, 0)
                continue
            if isinstance(part, ChosenElement):
                yield from self._choose(part)
                continue
            if self._meets and number:
                yield "barrier()"
            yield from self._pass(part, number)
            number += 1
        yield from self._written_last()
        if self._meets:
            yield "barrier()"

    def _written_last(self) -> Iterator[str]:
        """Yield the code by which one thread writes a value with one number per row, after all reads of that memory."""
        reduced = [k for k, value in enumerate(self._results) if self._program.reduced[value]]
        if not set(reduced).isdisjoint(self._variant.late):
            yield "barrier()"
        if reduced:
            yield "if lane == 0 and own > 0:"
        for k in reduced:
            value = self._results[k]
            self.names[f"store{k}"] = storer(self._data_type(value), 1)
            yield f"    store{k}(d{k}, 0, (v{value},))"

    def _map(self, stage: Stage, k: int) -> Iterator[str]:
        """Yield the results of a map, of elements k of packs or of numbers of the row."""
        assert stage.map is not None
        name = f"f{stage.writes[0]}"
        self.names[name] = functor(stage.map).function
        operands = ", ".join(self._name(value, k) for value in stage.reads)
        yield f"r_{k} = {name}({operands})"
        for place, value in enumerate(stage.writes):
            yield f"{self._name(value, k)} = r_{k}[{place}]"

    # passes

    def _pass(self, part: Pass, number: int) -> Iterator[str]:
        width = self._program.sharings.index(part.sharing)
        threads, elements = self._variant.threads[width], self._variant.elements[width]
        for reduction in part.reductions:
            yield from self._begin(reduction)
        for one in part.tops:
            yield self._begin_top(one)
        for one in part.sums:
            yield self._begin_sum(one)
        shift, has_rest = elements.bit_length() - 1, part.sharing.softmax is None and elements > 1
        pack = "\n    ".join(self._elements(part, number, elements, is_pack=True))
        yield from _PASS.format(width=width, shift=shift, threads=threads, pack=pack).strip().splitlines()
        if has_rest:  # for one row, which Reduce divides into packs of which the last is incomplete
            element = "\n    ".join(self._elements(part, number, 1, is_pack=False))
            yield from _REST.format(width=width, shift=shift, element=element).strip().splitlines()
        for reduction in part.reductions:
            yield from self._end(reduction, threads)
        for one in part.tops:
            yield self._end_top(one, threads)
        for one in part.sums:
            yield self._end_sum(one, threads)

    def _elements(self, part: Pass, number: int, count: int, is_pack: bool) -> Iterator[str]:
        """Yield the code for pack i of `count` elements, or for the single element e."""
        for value in sorted(part.reads - part.only_applied if self._variant.has_exponentials else part.reads):
            yield from self._read(value, number, count, is_pack)
        for one in part.applied:
            yield from self._apply(one, count, is_pack, are_kept=exponentials(one) in self._area_of)
        for k in range(count) if part.map else ():
            assert part.map is not None
            yield from self._map(part.map, k)
        for value in part.makes:
            if value in self._area_of:
                yield from self._keep(value, count, is_pack)
        for reduction in part.reductions:
            for k in range(count):
                n = reduction.written
                yield f"s{n} = add{n}(s{n}, opaque(in{n}({self._name(reduction.read, k)})))"
        for one in part.tops:
            for k in range(count):
                yield f"t{one.written} = higher{one.written}(t{one.written}, {self._name(one.reads[0], k)})"
        for one in part.sums:
            yield from self._sum(one, count, is_pack)
        for k, value in enumerate(self._results):
            if self._program.reduced[value]:
                continue
            if k in self._variant.late:
                if number == self._last:
                    yield from self._get(value, count, is_pack)
                    yield from self._write(k, value, count, is_pack)
            elif value in part.makes:
                yield from self._write(k, value, count, is_pack)

    def _sum(self, one: Softmax, count: int, is_pack: bool) -> Iterator[str]:
        n, kept = one.written, exponentials(one)
        for k in range(count):
            if one.op.is_gradient:
                yield f"s{n} = add{n}(s{n}, term{n}({self._pair(one, k)}))"
                continue
            yield self._exponential(one, k)
            yield f"s{n} = add{n}(s{n}, term{n}({self._name(kept, k)}, t{n}))"
        if kept in self._area_of:
            yield from self._keep(kept, count, is_pack)

    def _apply(self, one: Softmax, count: int, is_pack: bool, are_kept: bool) -> Iterator[str]:
        n, kept = one.written, exponentials(one)
        if are_kept:
            yield from self._get(kept, count, is_pack)
        for k in range(count):
            if one.op.is_gradient:
                yield f"x{n}_{k} = to{n}(result{n}({self._pair(one, k)}, u{n}))"
                continue
            if not are_kept:
                yield self._exponential(one, k)
            yield f"x{n}_{k} = to{n}(result{n}({self._name(kept, k)}, t{n}, u{n}))"

    def _exponential(self, one: Softmax, k: int) -> str:
        """Return the code for what is kept of an element: its exponential, or itself."""
        n = one.written
        return f"{self._name(exponentials(one), k)} = keep{n}({self._name(one.reads[0], k)}, t{n})"

    def _pair(self, one: Softmax, k: int) -> str:
        """Return the code for an element of each operand of a gradient."""
        return ", ".join(self._name(read, k) for read in one.reads)

    # elements that are chosen

    def _choose(self, part: ChosenElement) -> Iterator[str]:
        """Yield the code by which each thread computes the element from those of sources, which it has read."""
        n = part.written
        yield from self._use_one(part)
        for step in part.steps:
            if isinstance(step, Stage):
                yield from self._map(step, 0)
            else:
                yield from self._apply(step, 1, is_pack=False, are_kept=False)
        yield f"v{n} = {self._name(part.read, 0)} if is{n} else zero{n}"

    # reductions

    def _begin(self, reduction: Reduced) -> Iterator[str]:
        n, stored = reduction.written, reduction.stored
        states = accumulator(stored.op, stored.loaded).states
        self.names |= {f"empty{n}": states.empty, f"add{n}": states.add, f"value{n}": states.value}
        self.names |= {f"in{n}": converter(stored.loaded), f"to{n}": converter(self._data_type(n))}
        yield f"s{n} = empty{n}()"

    def _end(self, reduction: Reduced, threads: int) -> Iterator[str]:
        n, stored = reduction.written, reduction.stored
        self.names[f"merge{n}"] = merged(stored.op, stored.loaded, threads)
        self.names[f"share{n}"] = of_first(self._data_type(n), threads, self._variant.row_threads)
        yield f"v{n} = share{n}(to{n}(value{n}(merge{n}(s{n}, thread), cols)), thread)"

    # softmaxes

    def _begin_top(self, one: Softmax) -> str:
        scalar_type = storage_arithmetic(one.data_type)
        self.names[f"higher{one.written}"] = higher(scalar_type)
        self.names[f"lowest{one.written}"] = scalar_type(np.finfo(scalar_type).min)
        return f"t{one.written} = lowest{one.written}"

    def _end_top(self, one: Softmax, threads: int) -> str:
        n, scalar_type = one.written, storage_arithmetic(one.data_type)
        self.names[f"top{n}"] = merged_tops(scalar_type, threads)
        self.names[f"share_top{n}"] = of_first(one.data_type, threads, self._variant.row_threads)
        return f"t{n} = share_top{n}(top{n}((t{n},), thread)[0], thread)"

    def _begin_sum(self, one: Softmax) -> str:
        n, parts = one.written, softmax_parts(one.op, one.data_type)
        self.names |= {f"empty{n}": parts.sums.empty, f"add{n}": parts.sums.add, f"to{n}": converter(one.data_type)}
        self.names |= {f"{name}{n}": getattr(parts, name) for name in ("keep", "term", "scale", "result")}
        return f"s{n} = empty{n}()"

    def _end_sum(self, one: Softmax, threads: int) -> str:
        n, sums = one.written, softmax_parts(one.op, one.data_type).sums
        self.names[f"merge{n}"] = merged_sums(sums, threads)
        self.names[f"share{n}"] = of_first(one.data_type, threads, self._variant.row_threads)
        return f"u{n} = share{n}(scale{n}(merge{n}(s{n}, thread)), thread)"
