"""Add of many operands: in chunks, whose sums are in memory with the precision of registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ep.cuda.compile.kernel_words import flat
from ep.cuda.compile.launch_config import pack_elements
from ep.cuda.engine.map.plan import MapWords
from ep.include.data_type import DataType
from ep.include.number_kind import FLOATS

CHUNK: Final = 16
"""The largest number of operands of one launch, including the sum of the operands before them."""


class ChunkVariant(NamedTuple):
    """The kernel for a number of operands, the first of which, like dst, may be memory for a sum."""

    num_operands: int
    first_type: DataType
    dst_type: DataType
    elements: int


class Side(NamedTuple):
    """An operand or a sum: its place, and the type of its elements."""

    address: int
    data_type: DataType


class ChunkLaunch(NamedTuple):
    """A launch of one kernel."""

    variant: ChunkVariant
    num_items: int
    words: tuple[int, ...]


def sum_type(data_type: DataType) -> DataType:
    """Return the type of memory that stores a sum with the precision of registers."""
    return DataType.kFloat if data_type in FLOATS and data_type.itemsize == 2 else data_type


def chunk_launches(srcs: Sequence[Side], total: Side | None, dst: Side, count: int) -> Iterator[ChunkLaunch]:
    """Yield the launches that add `count` elements of all srcs.

    total: memory for a sum, if there are more than CHUNK.
    """
    chunk, rest = srcs[:CHUNK], srcs[CHUNK:]
    while rest and total:
        yield _launch(chunk, total, count)
        chunk, rest = (total, *rest[: CHUNK - 1]), rest[CHUNK - 1 :]
    yield _launch(chunk, dst, count)


def _launch(srcs: Sequence[Side], dst: Side, count: int) -> ChunkLaunch:
    sides = *srcs, dst
    elements = pack_elements(*(data_type for _, data_type in sides))
    if any(address % (elements * data_type.itemsize) for address, data_type in sides):
        elements, packs = 1, 0
    else:
        packs = count // elements
    variant = ChunkVariant(len(srcs), srcs[0].data_type, dst.data_type, elements)
    sources = tuple(word for address, _ in srcs for word in (address, 0))
    words = MapWords(sources, (dst.address,), packs, count, 0, 0, ())
    return ChunkLaunch(variant, max(packs, count - packs * elements), tuple(flat(words)))
