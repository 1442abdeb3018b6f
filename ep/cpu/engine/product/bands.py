"""Bands: blocks of a convolution's columns whose windows are reduced while the values are in the caches.

A band has some of the results' places along the first spatial axis, and all that their windows read. So bands overlap
if windows do, and each is reduced by itself.
"""

from __future__ import annotations

from typing import Final

from ep.common.native.words import load_word, stack_words, store_word
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import copy_bytes
from ep.cpu.engine.product.state import BLOCK, PRODUCT, PRODUCT_LAUNCH, PRODUCT_MAP
from ep.cpu.engine.reduce.plan import REDUCE_PLAN
from ep.cpu.engine.reduce.state import REDUCE, REDUCE_WORDS
from ep.cpu.engine.reduce.windows import WINDOWS
from ep.cpu.shared.layout import ADDRESS, layout
from ep.cpu.threads.parallel import call_task

BANDS: Final = layout(
    "Bands",
    WINDOWS,  # the windows of a row of c
    axis=1,  # the number of the first spatial axis, of three
    reduce=ADDRESS,  # the address of the task that reduces them
)

_AXES: Final = 3
_PLAN_WORDS: Final[int] = REDUCE_PLAN.num_words
_WINDOW_WORDS: Final[int] = WINDOWS.num_words


@jit
def band_of(bands, part, parts):
    """Return the first window of a band and the one after its last, and the same of the places that they read.

    All are along the first spatial axis. A band has one place at least.
    """
    axis = load_word(bands, BANDS.axis)
    size, count = load_word(bands, BANDS.sizes + axis), load_word(bands, BANDS.counts + axis)
    stride, before = load_word(bands, BANDS.strides + axis), load_word(bands, BANDS.before + axis)
    reach = (load_word(bands, BANDS.kernel + axis) - 1) * load_word(bands, BANDS.dilations + axis) + 1
    first, last = count * part // parts, count * (part + 1) // parts
    begin = min(max(first * stride - before, 0), size - 1)
    end = max(min((last - 1) * stride - before + reach, size), begin + 1)
    if parts == 1:  # also places that no window reads: the block has all columns
        begin, end = 0, size
    return first, last, begin, end


@jit
def _behind(words, axis):
    """Return the product of the three words of axes that follow `axis`."""
    product = 1
    for other in range(axis + 1, _AXES):
        product *= load_word(words, other)
    return product


@jit
def band_columns(bands, part, parts):
    """Return the first column of a band, and the number of its columns."""
    _, _, begin, end = band_of(bands, part, parts)
    columns = _behind(bands + 8 * BANDS.sizes, load_word(bands, BANDS.axis))
    return begin * columns, (end - begin) * columns


@separate
def reduce_band(launch, block, values, step, row, count):
    """Reduce the windows of rows [row, row + count) of a band, whose values are complete, to the result of the launch.

    values: the address of the first value. step: values from row to row.
    """
    program, product = load_word(launch, PRODUCT_LAUNCH.map), load_word(launch, PRODUCT_LAUNCH.product)
    bands, itemsize = load_word(product, PRODUCT.bands), load_word(program, PRODUCT_MAP.itemsize)
    axis, parts = load_word(bands, BANDS.axis), load_word(product, PRODUCT.column_parts)
    first, last, begin, end = band_of(bands, load_word(block, BLOCK.column_part), parts)
    own, plan, windows = stack_words(REDUCE_WORDS), stack_words(_PLAN_WORDS), stack_words(_WINDOW_WORDS)
    copy_bytes(windows, bands, 8 * _WINDOW_WORDS)
    before = load_word(bands, BANDS.before + axis) + begin - first * load_word(bands, BANDS.strides + axis)
    store_word(windows, WINDOWS.sizes + axis, end - begin)
    store_word(windows, WINDOWS.counts + axis, last - first)
    store_word(windows, WINDOWS.before + axis, before)
    store_word(plan, REDUCE_PLAN.windows, windows)
    store_word(own, REDUCE.plan, plan)
    of_row, of_place = _behind(bands + 8 * BANDS.counts, -1), _behind(bands + 8 * BANDS.counts, axis)
    rows = load_word(windows, WINDOWS.counts) * load_word(windows, WINDOWS.counts + 1)
    number = load_word(block, BLOCK.batch) * load_word(product, PRODUCT.m) + load_word(block, BLOCK.first_row) + row
    dst = load_word(load_word(launch, PRODUCT_LAUNCH.places), 0) + (number * of_row + first * of_place) * itemsize
    for _ in range(count):
        store_word(own, REDUCE.src, values)
        store_word(own, REDUCE.dst, dst)
        call_task(load_word(bands, BANDS.reduce), own, 0, rows)
        values += step * itemsize
        dst += of_row * itemsize
