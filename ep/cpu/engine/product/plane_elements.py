"""Sums of the windows of planes with few elements: vectors go over the ends of rows.

If there is a window for each element, the elements that windows have at one place are all at one distance from those
of the sums, in their order in memory. So a vector of sums reads one vector for each place of a window, in place. A
mask leaves out the elements that are outside of the plane, or in another row. With strides, a plane is packed as its
phases, and each of these has an element for each window. No lanes are idle but those behind the last sum of a plane.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any, Final

import numpy as np

from ep.common.loops import unrolled
from ep.common.native.fields import Int64, address, pointer, word
from ep.common.native.record import Words
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import inlined
from ep.cpu.compile.memory import loader, release, storer
from ep.cpu.compile.target import has_avx512
from ep.cpu.compile.vector import (
    Mask,
    all_lanes,
    convert,
    elements,
    fma,
    lanes_below,
    load,
    mask,
    mask_of_bits,
    store,
    vector,
)
from ep.cpu.engine.product.memory import allocate_for
from ep.cpu.engine.product.plane_results import mapped_results, written_results
from ep.cpu.engine.product.plane_rows import phase_packer, plane_words
from ep.cpu.engine.product.shape import lanes_of, num_registers
from ep.cpu.engine.product.state import Planes, ProductLaunch
from ep.cpu.engine.product.types import arithmetic_of
from ep.cpu.lines.streaming import finish_streams
from ep.include.data_type import DataType
from ep.include.number_kind import HALVES
from ep.include.primitive.plane_windows import PlaneWindows

_LINE: Final = 64  # bytes
_ENOUGH_PLANES: Final = 8
_MOST_PLACES: Final = 32  # their code is written one by one
_MOST_STRIDE: Final = 4
_VALUE_BYTES: Final = 8 * 1024  # of sums that are mapped together, a part of L1
_MOST_ELEMENTS: Final = 1 << 13  # of a phase
_BITS: Final = 16  # of a mask in memory
_MOST_PRODUCTS: Final = {True: 6000, False: 2000}
"""By whether there is AVX-512: the most products of a plane for which this is not slower than rows of sums, whose tiles
read each vector once."""


class _PlaneElements(Planes):
    vectors = word()  # of the sums of a plane
    at_once = word()  # the planes whose sums are mapped together
    distances = pointer(Int64)  # of each place: elements from the one of a sum to that which it reads
    masks = address()  # for each vector and place, which elements are read: in the form of `_mask_reader`
    phase_step = word()  # elements from phase to phase of a packed plane
    packed_bytes = word()


def has_few_elements(windows: PlaneWindows) -> bool:
    """Return whether sums of windows along three axes are computed here."""
    (layers, rows, columns), (num_layers, _, of_row) = windows.sizes, windows.counts
    _, *strides = windows.strides
    return (
        layers == num_layers == windows.kernel[0] == 1
        and windows.before[0] == 0
        and windows.planes >= _ENOUGH_PLANES
        and prod(windows.kernel) <= _MOST_PLACES
        and prod(windows.counts) * prod(windows.kernel) <= _MOST_PRODUCTS[has_avx512()]
        and max(strides) <= _MOST_STRIDE
        and max(*windows.before, *windows.dilations, rows // strides[0] * of_row) <= _MOST_ELEMENTS
        and of_row >= -(-columns // strides[1])
    )


def _is_packed(windows: PlaneWindows, data_type: DataType) -> bool:
    return data_type in HALVES or max(windows.strides) > 1 or windows.sizes[2] != windows.counts[2]


def elements_words(windows: PlaneWindows, groups: int, filters: int, data_type: DataType) -> tuple[Words, ...]:
    """Return the words that describe planes with `has_few_elements`, and the tables whose addresses they have."""
    wide, lanes, num_sums = arithmetic_of(data_type).itemsize, lanes_of(arithmetic_of(data_type)), prod(windows.counts)
    (_, rows, columns), (_, num_rows, of_row), (_, row_stride, stride) = windows.sizes, windows.counts, windows.strides
    phase_step = -(-rows // row_stride) * of_row + lanes  # vectors are written to the end of a row, and behind it
    distances, inside = list[int](), list[np.ndarray[Any, Any]]()
    for _, *place in np.ndindex(*windows.kernel):
        row, column = (
            at * dilation - before
            for at, dilation, before in zip(place, windows.dilations[1:], windows.before[1:], strict=True)
        )
        phase = row % row_stride * stride + column % stride
        distances.append(phase * phase_step + row // row_stride * of_row + column // stride)
        of_rows, of_columns = row + np.arange(num_rows) * row_stride, column + np.arange(of_row) * stride
        are_inside = (of_rows >= 0) & (of_rows < rows), (of_columns >= 0) & (of_columns < columns)
        inside.append(np.logical_and.outer(*are_inside).ravel())
    vectors = -(-num_sums // lanes)
    are_read = np.zeros((vectors * lanes, len(inside)), np.bool_)
    are_read[:num_sums] = np.array(inside).T
    masks: np.ndarray[Any, Any] = np.ascontiguousarray(are_read.reshape(vectors, lanes, -1).swapaxes(1, 2))
    if has_avx512():
        masks = np.packbits(np.pad(masks, ((0, 0), (0, 0), (0, _BITS - lanes))), axis=2, bitorder="little")
    else:
        masks = -masks.astype(_signs(wide).dtype)
    masks = masks.ravel().view(np.uint8)
    tables = Words(np.array(distances, np.int64)), Words(np.pad(masks, (0, -masks.size % 8)).view(np.int64))
    at_once = max(_VALUE_BYTES // (filters * num_sums * wide), 1)
    is_packed = _is_packed(windows, data_type)
    packed_bytes = row_stride * stride * phase_step * wide if is_packed else 0
    kept = packed_bytes + (len(inside) + at_once * filters * num_sums) * wide + 3 * _LINE
    words = plane_words(_PlaneElements, windows, groups, kept)
    fields = {
        "vectors": vectors,
        "at_once": at_once,
        "distances": tables[0].address,
        "masks": tables[1].address,
        "phase_step": phase_step if is_packed else 0,
        "packed_bytes": packed_bytes,
    }
    for field, value in fields.items():
        words[getattr(_PlaneElements, field)] = value
    return Words(words, _PlaneElements.addresses), *tables


def elements_task(windows: PlaneWindows, data_type: DataType, *, maps: bool) -> int:
    """Return the address of the task (launch, begin, end) that sums the windows of planes.

    maps: whether sums are in the arithmetic type, and are mapped if the launch has a map.
    """
    _, *strides = windows.strides
    return _task(data_type, prod(windows.kernel), *strides, _is_packed(windows, data_type), maps)


@cache
def _task(data_type: DataType, places: int, row_stride: int, stride: int, is_packed: bool, maps: bool) -> int:
    wide, size, widens = arithmetic_of(data_type), data_type.itemsize, data_type in HALVES
    wide_size, lanes = wide.itemsize, lanes_of(wide)
    result = wide if maps else data_type
    size_of_result = result.itemsize
    sums, pack_row = _sums(wide, result, places, lanes), phase_packer(data_type, lanes, stride, stride, 1)
    load_weight, store_weight = loader(data_type), storer(wide)
    are_apart, finish = mapped_results(size_of_result) if maps else written_results(size, size_of_result)

    @inlined
    def pack(words: _PlaneElements, src: int, packed: int) -> None:
        rows, columns, phase_step = words.sizes[1], words.sizes[2], words.phase_step
        of_row, vectors = words.counts[2], ((columns + stride - 1) // stride + lanes - 1) // lanes
        for row in range(rows):
            place = row % row_stride * stride * phase_step + row // row_stride * of_row
            pack_row(src + row * columns * size, 0, columns, vectors, phase_step, packed + place * wide_size)

    def sum_planes(launch: ProductLaunch, begin: int, end: int) -> None:
        product = launch.product
        words, filters, num_sums = _PlaneElements.at(product.planes), product.m, product.n
        at_once, groups = words.at_once, words.groups
        plane_bytes, apart = words.sizes[1] * words.sizes[2] * size, are_apart(launch)
        memory = allocate_for(launch, words.bytes)
        if memory == 0:
            return
        packed = (memory + _LINE - 1) // _LINE * _LINE
        kept = packed + (words.packed_bytes + _LINE - 1) // _LINE * _LINE
        values = kept + (places * wide_size + _LINE - 1) // _LINE * _LINE
        for first in range(begin, end, at_once):
            count = min(at_once, end - first)
            dst = launch.c + first * filters * num_sums * size_of_result
            to = values if apart else dst
            for plane in range(first, first + count):
                src = launch.b + plane * plane_bytes
                if is_packed:
                    pack(words, src, packed)
                    src = packed
                for of_filter in range(filters):
                    weights = (plane % groups * filters + of_filter) * places * size + launch.a
                    if widens:
                        for k in range(places):
                            store_weight(kept, k, load_weight(weights, k))
                        weights = kept
                    place = ((plane - first) * filters + of_filter) * num_sums
                    sums(words, src, weights, num_sums, to + place * size_of_result)
            finish(launch, first, 0, 0, count * filters, num_sums, to, dst)
        release(memory)
        finish_streams()

    windows = f"{places}.{row_stride}x{stride}{'.packed' * is_packed}{'.mapped' * maps}"
    return compile_task(f"product.plane_elements.{data_type.name}.{windows}", sum_planes)


def _sums(wide: DataType, result: DataType, places: int, lanes: int) -> Any:
    """Return a function (words, src, weights, count, dst) that writes the `count` sums of a plane.

    src: the first element of the plane, or of its first phase. weights: one of each place, in the type of sums.
    """
    Row, Stored, Numbers, Masks = vector(wide, lanes), vector(result, lanes), elements(wide), mask(lanes)
    read_mask, stays = _mask_reader(wide, lanes), places + 4 < num_registers()

    @inlined
    def sums(words: _PlaneElements, src: int, weights: int, count: int, dst: int) -> None:
        factors, distances, used = Row.array_on_stack(places), words.distances, Masks.array_on_stack(1)
        if stays:
            for place in unrolled(range(places)):
                factors[place] = Row.splat(Numbers.at(weights)[place])
        for number in range(words.vectors):
            index, total = number * lanes, Row.splat(-0.0)
            for place in unrolled(range(places)):
                factor = factors[place] if stays else Row.splat(Numbers.at(weights)[place])
                x = load(Row, src, index + distances[place], read_mask(words.masks, number * places + place))
                total = fma(x, factor, total)
            used[0] = all_lanes(lanes)
            if count - index < lanes:
                used[0] = lanes_below(count - index, lanes)
            store(dst, index, convert(Stored, total), used[0])

    return sums


def _signs(wide: int) -> DataType:
    """Return the type of integers of as many bytes, whose signs are a mask."""
    return DataType.kInt32 if wide == DataType.kInt32.itemsize else DataType.kInt64


def _mask_reader(wide: DataType, lanes: int) -> Any:
    """Return a function (masks, number) that returns a mask: of bits with AVX-512, else of the signs of numbers."""
    Bits, Signs, has_bits = elements(DataType.kUInt16), vector(_signs(wide.itemsize), lanes), has_avx512()

    @inlined
    def read_bits(masks: int, number: int) -> Mask:
        return mask_of_bits(Bits.at(masks)[number], lanes)

    @inlined
    def read_signs(masks: int, number: int) -> Mask:
        return load(Signs, masks, number * lanes) < Signs.zero()

    return read_bits if has_bits else read_signs
