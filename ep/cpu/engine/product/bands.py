"""Bands: blocks of a convolution's columns whose windows are reduced while the values are in the caches.

A band has some of the results' places along the first spatial axis, and all that their windows read. So bands overlap
if windows do, and each is reduced by itself.
"""

from __future__ import annotations

from typing import Final

from ep.common.native.fields import Int64, address, word
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import copy_bytes
from ep.cpu.engine.product.state import ProductBlock, ProductLaunch
from ep.cpu.engine.reduce.plan import ReduceLoops, WindowsLoops
from ep.cpu.engine.reduce.state import ReduceContext
from ep.cpu.threads.parallel import call_task


class Bands(WindowsLoops):
    """Windows whose products are reduced, band by band."""

    axis = word()  # the number of the first spatial axis, of three
    reduce = address()  # the address of the task that reduces them


_AXES: Final = 3


@jit
def band_of(bands: Bands, part: int, parts: int) -> tuple[int, int, int, int]:
    """Return the first window of a band and the one after its last, and the same of the places that they read.

    All are along the first spatial axis. A band has one place at least.
    """
    axis = bands.axis
    size, count = bands.sizes[axis], bands.counts[axis]
    stride, before = bands.strides[axis], bands.before[axis]
    reach = (bands.kernel[axis] - 1) * bands.dilations[axis] + 1
    first, last = count * part // parts, count * (part + 1) // parts
    begin = min(max(first * stride - before, 0), size - 1)
    end = max(min((last - 1) * stride - before + reach, size), begin + 1)
    if parts == 1:  # also places that no window reads: the block has all columns
        begin, end = 0, size
    return first, last, begin, end


@jit
def _behind(words: Int64, axis: int) -> int:
    """Return the product of the three words of axes that follow `axis`."""
    product = 1
    for other in range(axis + 1, _AXES):
        product *= words[other]
    return product


@jit
def band_columns(bands: Bands, part: int, parts: int) -> tuple[int, int]:
    """Return the first column of a band, and the number of its columns."""
    _, _, begin, end = band_of(bands, part, parts)
    columns = _behind(bands.sizes, bands.axis)
    return begin * columns, (end - begin) * columns


@separate
def reduce_band(launch: ProductLaunch, block: ProductBlock, values: int, step: int, row: int, count: int) -> None:
    """Reduce the windows of rows [row, row + count) of a band, whose values are complete, to the result of the launch.

    values: the address of the first value. step: values from row to row.
    """
    program, product = launch.map, launch.product
    bands, itemsize = Bands.at(product.bands), program.itemsize
    axis, parts = bands.axis, product.column_parts
    first, last, begin, end = band_of(bands, block.column_part, parts)
    own, plan, windows = ReduceContext.on_stack(), ReduceLoops.on_stack(), WindowsLoops.on_stack()
    copy_bytes(windows, bands, 8 * WindowsLoops.num_words)
    before = bands.before[axis] + begin - first * bands.strides[axis]
    windows.sizes[axis] = end - begin
    windows.counts[axis] = last - first
    windows.before[axis] = before
    plan.windows = windows
    own.plan = plan
    of_row, of_place = _behind(bands.counts, -1), _behind(bands.counts, axis)
    rows = windows.counts[0] * windows.counts[1]
    number = block.batch * product.m + block.first_row + row
    dst = launch.places[0] + (number * of_row + first * of_place) * itemsize
    for _ in range(count):
        own.src = values
        own.dst = dst
        call_task(bands.reduce, own, 0, rows)
        values += step * itemsize
        dst += of_row * itemsize
