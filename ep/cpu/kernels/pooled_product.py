"""Convolutions whose windows are reduced: the bands of their columns."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ep.common.native.record import Words
from ep.common.primitive.broadcast import Dims
from ep.common.primitive.windows import windows_of_pool
from ep.cpu.engine.product.bands import Bands
from ep.cpu.engine.product.state import ProductLoops
from ep.cpu.engine.reduce.plan import WindowsLoops
from ep.cpu.engine.reduce.windows import row_task, words_of
from ep.cpu.machine.caches import second_cache
from ep.include.data_type import DataType
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.structure import MaxPool, Structure

_PART: Final = 4  # the values of a block take at most one of so many parts of L2
_LEAST_APART: Final = 8  # places along an axis for one that two bands have


def without_pool(structure: Structure) -> Structure:
    """Return the structure of the values whose windows are reduced."""
    (value,) = structure.steps[-1].operands
    return structure._replace(steps=structure.steps[:-1], results=(value,))


def set_bands(words: np.ndarray[Any, Any], pool: MaxPool, shape: Dims, data_type: DataType, has_rows: bool) -> Words:
    """Write the number of bands to the words of a product, and their address; return their own words.

    shape: that of the convolution. has_rows: whether a map computes parts of the columns; there is one band if not.
    """
    windows = windows_of_pool(pool, shape).in_planes(1)
    bands = np.zeros(Bands.num_words, np.int64)
    bands[: WindowsLoops.num_words] = words_of(windows)
    bands[Bands.axis] = 3 - len(windows.sizes)
    bands[Bands.reduce] = row_task(ReduceOp.kMax, data_type, windows)
    size, reach = windows.sizes[0], (windows.kernel[0] - 1) * windows.dilations[0] + 1
    of_block = (
        int(words[ProductLoops.m] * words[ProductLoops.n]) * data_type.itemsize // int(words[ProductLoops.row_parts])
    )
    parts = max(int(words[ProductLoops.column_parts]), -(-of_block * _PART // second_cache()))
    shared = max(reach - windows.strides[0], 0)
    most = min(windows.counts[0], max(size // (_LEAST_APART * shared), 1) if shared else size)
    words[ProductLoops.column_parts] = min(parts, most) if has_rows else 1
    words[ProductLoops.depth_parts] = 1  # sums that are cut are not complete in their block
    made = Words(bands, Bands.addresses)
    words[ProductLoops.bands] = made.address
    return made
