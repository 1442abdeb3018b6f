"""The source of a reduction's elements: an array, or in what a functor makes of operands as they read."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ep.common.loops import unrolled, written_out
from ep.cuda.compile.conversion import converter, opaque
from ep.cuda.compile.kernel_words import Words, num_walk_words
from ep.cuda.compile.memory import loader
from ep.cuda.compile.numba_cuda import device_function
from ep.cuda.engine.map.access import Variant
from ep.cuda.engine.map.functor import Functor, kernel_name, over_packs
from ep.cuda.engine.map.operand import all_operands
from ep.include.data_type import DataType
from ep.include.number_kind import PART


class Computed(NamedTuple):
    """Elements that a functor with one result computes.

    read: how its operands are read. They have the walk over all elements in C order, and packs where those of the
    reduction begin at multiples of their elements; else each element is read for itself.
    """

    functor: Functor
    read: Variant


class Source(NamedTuple):
    """Functions that read elements by their numbers in C order, and the words of a launch that they take.

    num_words, num_walk_words: those before the walks of the reduction, and those after them.
    prepare(words) -> what stays the same for all elements. begin(prepared, n) -> a place, from which `pack` and
    `element` go on: pack(place, n, walk words), element(place, n, walk words), a pack of one.
    name: of what is computed; empty if it is only loaded.
    packs: that a kernel may have under way, with the text of each, without running out of registers.
    """

    num_words: int
    num_walk_words: int
    prepare: Any
    begin: Any
    pack: Any
    element: Any
    name: str = ""
    packs: int = 4


def source(computed: Computed | None, data_type: DataType, elements: int, aligned: bool) -> Source:
    """Return the source of packs of `elements` of `data_type`: an array, unless they are computed.

    aligned: whether packs of an array lie at multiples of their bytes.
    """
    if computed is not None:
        return _computed(computed, data_type, elements)
    load, load_one, size = loader(data_type, elements, aligned), loader(data_type, 1, aligned=False), data_type.itemsize
    return Source(
        1,
        0,
        prepare=device_function(lambda words: words[0]),
        begin=device_function(lambda address, n: address + n * size),
        pack=device_function(lambda address, n, words: load(address + n * size, 0)),
        element=device_function(lambda address, n, words: load_one(address, n)),
    )


@cache
def _computed(computed: Computed, data_type: DataType, elements: int) -> Source:
    functor, read = computed
    (made,) = functor.dst_types
    in_parts = made in PART and data_type is PART[made]
    sources, count = all_operands(functor.src_types, read), elements // 2 if in_parts else elements
    apply, apply_one = over_packs(functor, read.elements)
    finish, finish_one = (_as_loaded(data_type, each, in_parts) for each in (count, 1))

    @device_function
    def element(place: Any, n: int, words: Words) -> Any:
        operands, first = place
        return finish_one(apply_one(sources.element(operands, first + n, words), ())[0])

    read_pack, shift, parts = sources.pack, count.bit_length() - 1, 1 if in_parts else 0

    @device_function
    def whole(place: Any, n: int, words: Words) -> Any:
        operands, first = place
        return finish(apply(read_pack(operands, (first + n) >> (shift + parts), words), ())[0])

    read_one = sources.element

    @written_out(device_function)
    def each(place: Any, n: int, words: Words) -> Any:
        operands, first = place
        begin = (first + n) >> parts
        return finish(tuple(apply_one(read_one(operands, begin + k, words), ())[0][0] for k in unrolled(range(count))))

    _, num_offsets = read.offsets()
    return Source(
        2 * len(functor.src_types),
        num_walk_words(read.num_axes, num_offsets),
        prepare=sources.prepare,
        begin=device_function(lambda operands, n: (operands, n)),
        pack=whole if read.elements == count else each,
        element=element,
        name=kernel_name(functor, read),
        packs=4 // len(functor.src_types) if functor.is_short else 1,
    )


@cache
def _as_loaded(data_type: DataType, count: int, in_parts: bool) -> Any:
    """(pack) -> its elements, as those of `data_type` are loaded; in_parts: the two parts of each complex number."""
    convert = converter(data_type)
    if in_parts:

        @device_function
        def parts(pack: Any) -> Any:  # of one number: see `Shape`, which has an axis of them
            return opaque(pack[0].real), opaque(pack[0].imag)

        return parts

    @written_out(device_function)
    def loaded(pack: Any) -> Any:
        return tuple(opaque(convert(pack[k])) for k in unrolled(range(count)))

    return loaded
