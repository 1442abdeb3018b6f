"""The engine that applies a functor to each element: any number of operands and results, each with its own access.

A thread processes packs of the walk over the results in order, with the grid as step. Operands in another order are
found by the walk over the simplified axes of the launch.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.common.loops import unrolled, written_out
from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.form import Form, current_form, thread_range
from ep.cuda.compile.kernel_words import Words, num_walk_words
from ep.cuda.compile.launch_config import elements_at_once
from ep.cuda.compile.numba_cuda import device_function, next_index
from ep.cuda.engine.map.access import Access, Variant
from ep.cuda.engine.map.functor import Functor, attribute_reader, kernel_name, over_packs
from ep.cuda.engine.map.operand import all_operands
from ep.cuda.engine.map.plan import MapWords
from ep.cuda.engine.map.result import result


def kernel(functor: Functor, variant: Variant) -> KernelSource:
    """Return the kernel of a functor, in the form that is asked for: see `_kernel`."""
    return _kernel(functor, variant, current_form())


@cache
def _kernel(functor: Functor, variant: Variant, form: Form) -> KernelSource:
    """Return the kernel results at n = functor(operands at n) for n < num_elements, the first `packs` packs whole.

    `packs` is 0 where a result, or an operand read in
    the order of the walk, is not aligned to packs, and for functors that take none.
    """
    elements, accesses, num_axes, bits, written, *_ = variant
    num_operands, num_results = len(accesses), len(written)
    places, num_offsets = variant.offsets()
    results = tuple(
        result(access, dst_type, elements, position, num_offsets, num_axes, bits, form.streams)
        for access, dst_type, position in zip(written, functor.dst_types, places[num_operands:], strict=True)
    )
    prepare, read, read_one = all_operands(functor.src_types, variant)
    write, write_one = _written_by(tuple(r.pack for r in results)), _written_by(tuple(r.element for r in results))
    apply, apply_one = over_packs(functor, elements)
    read_attributes = attribute_reader(functor.num_attributes, functor.attribute_type)
    takes_packs = functor.takes_packs
    # a pack of single loads is enough, and so are packs of many operands
    in_pairs = functor.takes_pairs and (elements == 1 or Access.EACH not in accesses)
    # if no packs are aligned, all elements are processed one by one, with several in flight
    at_once = elements_at_once(*functor.src_types, *functor.dst_types) if elements == 1 and functor.takes_pairs else 1
    several = _several(read_one, apply_one, write_one, at_once)
    range_of = thread_range(form.one_pass)

    def map_elements(words: MapWords) -> None:
        attributes = read_attributes(words.attribute0, words.attribute1)
        sources, walk_words = prepare(words.sources), words.walk
        dst, packs, count = words.results, words.packs, words.num_elements
        if takes_packs:
            i, step, end = range_of(packs)
            while in_pairs and i + step < end:  # the loads of two packs in flight at a time
                a, b = read(sources, i, walk_words), read(sources, i + step, walk_words)
                write(dst, i, apply(a, attributes), walk_words)
                write(dst, i + step, apply(b, attributes), walk_words)
                i = next_index(i, 2 * step)
            while i < end:
                write(dst, i, apply(read(sources, i, walk_words), attributes), walk_words)
                i = next_index(i, step)
        begin = packs * elements
        first, step, end = range_of(count - begin)
        i, end = begin + first, begin + end
        while at_once > 1 and i + (at_once - 1) * step < end:
            several(sources, dst, i, step, attributes, walk_words)
            i = next_index(i, at_once * step)
        while i < end:
            write_one(dst, i, apply_one(read_one(sources, i, walk_words), attributes), walk_words)
            i = next_index(i, step)

    lengths = 2 * num_operands, num_results, num_walk_words(num_axes, num_offsets)
    name = f"map.{kernel_name(functor, variant)}{form.suffix}"
    return KernelSource(name, map_elements, lengths, True, form.items_per_thread)


def _several(read: Any, apply: Any, write: Any, count: int) -> Any:
    """(sources, dst, i, step, attributes, walk words): results of `count` elements, `step` apart from element i on."""

    @written_out(device_function)
    def several(sources: Any, dst: int, i: int, step: int, attributes: Any, words: Words) -> None:
        elements = tuple(read(sources, i + k * step, words) for k in unrolled(range(count)))
        for k in unrolled(range(count)):
            write(dst, i + k * step, apply(elements[k], attributes), words)

    return several


@cache
def _written_by(writers: tuple[Any, ...]) -> Any:
    """(addresses, n, packs, walk words): each writer writes its pack."""

    @written_out(device_function)
    def write_all(dsts: Any, n: int, packs: Any, words: Words) -> None:
        for k, write in unrolled(enumerate(writers)):
            write(dsts[k], n, packs[k], words)

    return write_all
