"""Expressions with rows: passes over a row, written as text, which call the functors of the ops.

A value of one number a row is `v` and its number; element k of a pack of another is `x`, its number and `_k`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.functor.reduction import States
from ep.common.loops import unrolled, written_out
from ep.common.primitive.stages import Stage
from ep.common.source import digest_of, function_of
from ep.common.stored_types import stored_as
from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.compiler import Kernel
from ep.cuda.compile.conversion import converter, opaque
from ep.cuda.compile.launch_config import BLOCK_THREADS, WARP_THREADS
from ep.cuda.compile.memory import loader, storer, value_reader
from ep.cuda.compile.numba_cuda import (
    barrier,
    block_of_grid,
    blocks_of_grid,
    device_function,
    next_index,
    shared_array,
    shuffle_xor,
    thread_of_block,
)
from ep.cuda.compile.walk import walk
from ep.cuda.compile.walk_words import num_walk_words
from ep.cuda.engine.reduce.accumulator import accumulator
from ep.cuda.engine.reduce.merge import merger
from ep.cuda.engine.reduce.row_expression_plan import Kept, RowVariant, Way, kept_bytes, kept_size, kept_values
from ep.cuda.engine.reduce.row_passes import row_sums
from ep.cuda.engine.reduce.row_program import Pass, Reduced, RowProgram, Softmax
from ep.cuda.kernels.expression import functor
from ep.cuda.kernels.softmax import log_softmax, softmax
from ep.include.data_type import DataType, as_data_type
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.structure import RowOp

_KERNEL: Final = """
def rows(words):
    rows, cols, thread = words[{rows}], words[{cols}], thread_of_block()
    first, step = block_of_grid()[0] * {block_rows}, blocks_of_grid()[0] * {block_rows}
    {once}
    while first < rows:  # all threads of the block together: they meet at barriers
        row = first + {row_of_block}
        own = cols if row < rows else 0
        at = offsets(row if row < rows else rows - 1, words[{walk}:])
        {of_row}
        first += step
"""

_PASS: Final = """
i, own_packs = lane{width}, own{width} >> {shift}
while i < own_packs:
    {pack}
    i = next_index(i, {threads})
e = own_packs << {shift} if {has_rest} else own{width}
while e < own{width}:
    {element}
    e += 1
"""


@cache
def kernel(program: RowProgram, variant: RowVariant) -> Kernel:
    """The kernel of the rows of a structure.

    Its words, a tuple: two for each source (its address and nothing, or the bytes of a number); the address of each
    result; the stride of each array whose elements are a stride apart, results first; rows, cols; those of the walk
    over rows; the address of memory for what is kept there.
    """
    return _Text(program, variant).kernel()


class _Text:
    """The text of a kernel. names: what it refers to."""

    def __init__(self, program: RowProgram, variant: RowVariant) -> None:
        self._program, self._variant, self._structure = program, variant, program.structure
        self._results, self._num_sources = self._structure.results, len(self._structure.sources)
        ways = variant.ways
        self._result_ways, self._source_ways = ways[: len(self._results)], ways[len(self._results) :]
        self._width = program.sharings[0].elements
        self._meets = len(variant.threads) > 1  # what a thread keeps, others may read
        self._alone = variant.has_idle_threads  # a block has one row
        self._kept = kept_values(program, variant)
        self._last = len(program.passes) - 1
        self.names: dict[str, Any] = {
            "thread_of_block": thread_of_block,
            "block_of_grid": block_of_grid,
            "blocks_of_grid": blocks_of_grid,
            "next_index": next_index,
            "barrier": barrier,
            "opaque": opaque,
            "np": np,
            "offsets": walk(variant.num_axes, max(variant.places) + 1, variant.bits),
        }
        strided = [side for side, way in enumerate(ways) if way is Way.STRIDED]
        first = 2 * self._num_sources + len(self._results)
        self._strides = {side: f"words[{first + k}]" for k, side in enumerate(strided)}
        self._place = first + len(strided)

    def kernel(self) -> Kernel:
        variant = self._variant
        num_words = self._place + 2 + num_walk_words(variant.num_axes, max(variant.places) + 1)
        once, of_row = list(self._once(num_words)), list(self._of_row())
        text = _KERNEL.format(
            rows=self._place,
            cols=self._place + 1,
            walk=self._place + 2,
            block_rows=variant.block_rows,
            row_of_block="0" if self._alone else f"thread // {variant.threads[0]}",
            once="\n    ".join(once),
            of_row="\n        ".join(of_row),
        )
        in_memory = variant.kept is Kept.MEMORY
        name = f"rows.expression.{digest_of(repr((self._structure, variant)))}{digest_of(text)}"
        function = function_of(text, "rows", __name__, self.names)
        return Kernel(name, function, 0, num_words + in_memory, is_contracted=True)

    def _data_type(self, value: int) -> DataType:
        return stored_as(self._structure.data_type(value))

    def _name(self, value: int, k: int) -> str:
        """Element k of a value, or its number of the row."""
        return f"x{value}_{k}" if self._has_elements(value) else f"v{value}"

    def _has_elements(self, value: int) -> bool:
        if value < self._num_sources:
            return self._source_ways[value].has_elements
        return not self._program.reduced[value]

    # what stays the same for all rows

    def _once(self, num_words: int) -> Iterator[str]:
        for value, way in enumerate(self._source_ways):
            if way is Way.NUMBER:
                self.names[f"number{value}"] = value_reader(storage_arithmetic(self._data_type(value)))
                yield f"v{value} = number{value}(words[{2 * value}], words[{2 * value + 1}])"
        for width, threads in enumerate(self._variant.threads):
            yield f"lane{width} = thread" if self._alone else f"lane{width} = thread % {threads}"
        if not self._kept:
            return
        size = self._width
        yield f"planes = (cols + {size - 1}) // {size}"
        yield f"stride = planes * {size} | 1"  # not a multiple of the banks of shared memory
        rows, before = self._variant.block_rows, 0
        row = "0" if self._alone else f"(thread // {self._variant.threads[0]}) * stride"
        for value in self._kept:
            size = kept_size(self._program, value)
            if self._variant.kept is Kept.MEMORY:
                of_block = f"block_of_grid()[0] * {kept_bytes(self._program, self._variant)}"
                yield f"m{value} = words[{num_words}] + ({of_block} + {rows * before}) * stride + {row} * {size}"
            else:
                scalar = storage_arithmetic(self._data_type(value))
                self.names[f"shared_{scalar.__name__}"] = shared_array(0, scalar)
                yield f"m{value} = shared_{scalar.__name__}()"
                yield f"k{value} = {rows * before // size} * stride + {row}"
            before += size

    # rows

    def _of_row(self) -> Iterator[str]:
        sides = [*((len(self._results) + k, way) for k, way in enumerate(self._source_ways))]
        for value, (side, way) in enumerate(sides):
            if way is Way.NUMBER:
                continue
            size, place = self._data_type(value).itemsize, self._variant.places[side]
            yield f"b{value} = words[{2 * value}] + at[{place}] * {size}"
            if not way.has_elements:
                self.names[f"load{value}"] = loader(self._data_type(value), 1)
                yield f"v{value} = load{value}(b{value}, 0)[0]"
        for k, value in enumerate(self._results):
            size, place = self._data_type(value).itemsize, self._variant.places[k]
            yield f"d{k} = words[{2 * self._num_sources + k}] + at[{place}] * {size}"
        for width, threads in enumerate(self._variant.threads):
            alone = self._alone and threads < BLOCK_THREADS
            yield f"own{width} = own if thread < {threads} else 0" if alone else f"own{width} = own"
        number = 0
        for part in self._program.parts:
            if isinstance(part, Stage):
                yield from self._map(part, 0)
                continue
            if self._meets and number:
                yield "barrier()"
            yield from self._pass(part, number)
            number += 1
        yield from self._written_last()
        if self._meets:
            yield "barrier()"

    def _written_last(self) -> Iterator[str]:
        """What is one number a row is written by one thread, when all have read what may lie there."""
        reduced = [k for k, value in enumerate(self._results) if self._program.reduced[value]]
        if reduced:
            yield "if lane0 == 0 and own > 0:"
        for k in reduced:
            value = self._results[k]
            self.names[f"store{k}"] = storer(self._data_type(value), 1)
            yield f"    store{k}(d{k}, 0, (v{value},))"

    def _map(self, stage: Stage, k: int) -> Iterator[str]:
        """The results of a map, of elements k of packs or of numbers of the row."""
        assert stage.map is not None
        name = f"f{stage.writes[0]}"
        self.names[name] = functor(stage.map).function
        operands = ", ".join(self._name(value, k) for value in stage.reads)
        yield f"r_{k} = {name}({operands})"
        for place, value in enumerate(stage.writes):
            yield f"{self._name(value, k)} = r_{k}[{place}]"

    # passes

    def _pass(self, part: Pass, number: int) -> Iterator[str]:
        width, elements = self._program.sharings.index(part.sharing), part.sharing.elements
        threads = self._variant.threads[width]
        for reduction in part.reductions:
            yield from self._begin(reduction)
        for one in part.tops:
            yield self._begin_top(one)
        for one in part.sums:
            yield self._begin_sum(one)
        text = _PASS.format(
            width=width,
            shift=elements.bit_length() - 1,
            threads=threads,
            has_rest=f"lane{width} == 0" if part.sharing.softmax is None else "i == own_packs",
            pack="\n    ".join(self._elements(part, number, elements, is_pack=True)),
            element="\n    ".join(self._elements(part, number, 1, is_pack=False)),
        )
        yield from text.strip().splitlines()
        for reduction in part.reductions:
            yield from self._end(reduction, threads)
        for one in part.tops:
            yield self._end_top(one, threads)
        for one in part.sums:
            yield self._end_sum(one, threads)

    def _elements(self, part: Pass, number: int, count: int, is_pack: bool) -> Iterator[str]:
        """The text for pack i of `count` elements, or for element e alone."""
        for value in sorted(part.reads):
            yield from self._read(value, number, count, is_pack)
        for one in part.applied:
            n = one.written
            for k in range(count):
                yield f"x{n}_{k} = to{n}(apply{n}({self._name(one.read, k)}, t{n}, u{n}))"
        for k in range(count) if part.map else ():
            assert part.map is not None
            yield from self._map(part.map, k)
        for value in part.makes:
            if value in self._kept:
                yield from self._keep(value, count, is_pack)
        for reduction in part.reductions:
            for k in range(count):
                n = reduction.written
                yield f"s{n} = add{n}(s{n}, opaque(in{n}({self._name(reduction.read, k)})))"
        for one in part.tops:
            for k in range(count):
                yield f"t{one.written} = higher(t{one.written}, {self._name(one.read, k)})"
        for one in part.sums:
            n = one.written
            for k in range(count):
                yield f"s{n} = add{n}(s{n}, term{n}({self._name(one.read, k)}, t{n}))"
        for k, value in enumerate(self._results):
            if self._program.reduced[value]:
                continue
            if k in self._variant.late:
                if number == self._last:
                    yield from self._get(value, count, is_pack)
                    yield from self._write(k, value, count, is_pack)
            elif value in part.makes:
                yield from self._write(k, value, count, is_pack)

    def _read(self, value: int, number: int, count: int, is_pack: bool) -> Iterator[str]:
        """The elements of a value that an array has, or a pass before."""
        is_source = value < self._num_sources
        if is_source and not self._has_elements(value):
            return
        if not is_source or (value in self._kept and number > self._program.read_in(value)[0]):
            yield from self._get(value, count, is_pack)
            return
        data_type, way = self._data_type(value), self._source_ways[value]
        if way is Way.PACKS and is_pack:
            self.names[f"load{value}_{count}"] = loader(data_type, count)
            yield f"p{value} = load{value}_{count}(b{value}, i)"
        self.names[f"load{value}"] = loader(data_type, 1)
        for k in range(count):
            if way is Way.PACKS and is_pack:
                yield f"x{value}_{k} = p{value}[{k}]"
                continue
            stride = self._strides.get(len(self._results) + value)
            place = f"({_place(k, count, is_pack)})" + (f" * {stride}" if stride else "")
            yield f"x{value}_{k} = load{value}(b{value}, {place})[0]"
        if value in self._kept:
            yield from self._keep(value, count, is_pack)

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

    # what is kept from one pass to the next

    def _kept_place(self, k: int, count: int, is_pack: bool) -> str:
        """Where element k of a pack of a kept value is: in as many planes as packs have elements."""
        if is_pack and count == self._width:
            return f"{k} * planes + i"
        mask, shift, element = self._width - 1, self._width.bit_length() - 1, _place(k, count, is_pack)
        return f"(({element}) & {mask}) * planes + (({element}) >> {shift})"

    def _keep(self, value: int, count: int, is_pack: bool) -> Iterator[str]:
        for k in range(count):
            place = self._kept_place(k, count, is_pack)
            if self._variant.kept is Kept.MEMORY:
                self.names[f"put{value}"] = storer(self._kept_type(value), 1)
                yield f"put{value}(m{value}, {place}, ({self._name(value, k)},))"
            else:  # unsigned: Numba lets negative places count from the end, which takes instructions
                yield f"m{value}[np.uint64(k{value} + {place})] = {self._name(value, k)}"

    def _get(self, value: int, count: int, is_pack: bool) -> Iterator[str]:
        for k in range(count):
            place = self._kept_place(k, count, is_pack)
            if self._variant.kept is Kept.MEMORY:
                self.names[f"get{value}"] = loader(self._kept_type(value), 1)
                yield f"{self._name(value, k)} = get{value}(m{value}, {place})[0]"
            else:
                yield f"{self._name(value, k)} = m{value}[np.uint64(k{value} + {place})]"

    def _kept_type(self, value: int) -> DataType:
        return as_data_type(np.dtype(storage_arithmetic(self._data_type(value))), "value")

    # reductions

    def _begin(self, reduction: Reduced) -> Iterator[str]:
        n, stored = reduction.written, reduction.stored
        states = accumulator(stored.op, stored.loaded).states
        self.names |= {f"empty{n}": states.empty, f"add{n}": states.add, f"value{n}": states.value}
        self.names |= {f"in{n}": converter(stored.loaded), f"to{n}": converter(self._data_type(n))}
        yield f"s{n} = empty{n}()"

    def _end(self, reduction: Reduced, threads: int) -> Iterator[str]:
        n, stored = reduction.written, reduction.stored
        self.names[f"merge{n}"] = _merged(stored.op, stored.loaded, threads)
        self.names[f"share{n}"] = _shared(self._data_type(n), threads, self._alone)
        yield f"v{n} = share{n}(to{n}(value{n}(merge{n}(s{n}, thread), cols)), thread)"

    # softmaxes

    def _begin_top(self, one: Softmax) -> str:
        scalar_type = storage_arithmetic(one.data_type)
        self.names |= {"higher": _higher, f"lowest{one.written}": scalar_type(np.finfo(scalar_type).min)}
        return f"t{one.written} = lowest{one.written}"

    def _end_top(self, one: Softmax, threads: int) -> str:
        n, scalar_type = one.written, storage_arithmetic(one.data_type)
        self.names[f"top{n}"] = _merged_tops(scalar_type, threads)
        self.names[f"share_top{n}"] = _shared(one.data_type, threads, self._alone)
        return f"t{n} = share_top{n}(top{n}((t{n},), thread)[0], thread)"

    def _begin_sum(self, one: Softmax) -> str:
        n, parts = one.written, softmax_parts(one.op, one.data_type)
        self.names |= {f"empty{n}": parts.sums.empty, f"add{n}": parts.sums.add, f"term{n}": parts.term}
        self.names |= {f"scale{n}": parts.scale, f"apply{n}": parts.result, f"to{n}": converter(one.data_type)}
        return f"s{n} = empty{n}()"

    def _end_sum(self, one: Softmax, threads: int) -> str:
        n, sums = one.written, softmax_parts(one.op, one.data_type).sums
        self.names[f"merge{n}"] = _merged_sums(sums, threads)
        self.names[f"share{n}"] = _shared(one.data_type, threads, self._alone)
        return f"u{n} = share{n}(scale{n}(merge{n}(s{n}, thread)), thread)"


def _place(k: int, count: int, is_pack: bool) -> str:
    """The number of an element in its row: of pack i, or element e."""
    return f"i * {count} + {k}" if is_pack else "e"


@cache
def _merged(op: ReduceOp, data_type: DataType, threads: int) -> Any:
    work = accumulator(op, data_type)
    return merger(work.states.merge, work.states.num_parts, work.scalar_type, threads, to_all=True)


@device_function
def _higher(top, x):
    return x if x > top else top


@cache
def _merged_tops(scalar_type: type[np.generic], threads: int) -> Any:
    @device_function
    def larger(a, b):
        return (_higher(a[0], b[0]),)

    return merger(larger, 1, scalar_type, threads, to_all=True)


@cache
def _merged_sums(sums: States, threads: int) -> Any:
    return merger(sums.merge, sums.num_parts, np.float64, threads, to_all=True)


class SoftmaxParts(NamedTuple):
    """The functions of a softmax, of elements as they are loaded.

    sums: of terms. term(x, top): what is summed up. scale(sum) -> a number for the row. result(x, top, number).
    """

    sums: States
    term: Any
    scale: Any
    result: Any


@cache
def softmax_parts(op: RowOp, data_type: DataType) -> SoftmaxParts:
    """The functions that the primitive has. What it keeps of an element is computed again for the result."""
    function = {RowOp.kSoftmax: softmax, RowOp.kLogSoftmax: log_softmax}[op](data_type)
    keep = device_function(function.keep or (lambda e, top: e))
    term, result = device_function(function.term), device_function(function.result)
    return SoftmaxParts(
        row_sums(data_type),
        device_function(lambda x, top: term(keep((opaque(x),), top), top)),
        device_function(function.scale),
        device_function(lambda x, top, number: result(keep((opaque(x),), top), top, number)),
    )


@cache
def _shared(data_type: DataType, threads: int, by_block: bool) -> Callable[..., Any]:
    """(number, thread) -> that of the first thread of a row, to whose bits Reduce comes; by_block: of the block."""
    if by_block and threads < BLOCK_THREADS:
        numbers = shared_array(1, storage_arithmetic(data_type))

        def share(number, thread):
            memory = numbers()
            if thread == 0:
                memory[0] = number
            barrier()
            number = memory[0]
            barrier()
            return number

        return device_function(share)  # type: ignore[no-any-return]
    masks = tuple(1 << k for k in range(threads.bit_length() - 1)) if threads <= WARP_THREADS else ()

    @written_out(device_function)
    def of_first(number, thread):
        for mask in unrolled(masks):
            other = shuffle_xor(number, mask)
            number = other if thread & mask else number
        return number

    return of_first  # type: ignore[no-any-return]
