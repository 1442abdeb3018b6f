"""The plan of a launch of ConstantPad, which depends on dims and the addresses of the buffers."""

from __future__ import annotations

import math
import struct
from typing import Final, NamedTuple

from ep.common.primitive.movement import fits_32_bit_offsets, widest_unit
from ep.common.primitive.pad_shape import PadShape
from ep.cuda.compile.kernel_words import region_words
from ep.cuda.compile.launch_config import LONG_ROW, PACK_BYTES, units_of_pack

_WORDS: Final = struct.Struct("2q")


class PadVariant(NamedTuple):
    """One of the kernels of `move.pad`.

    unit: the bytes that are read at once, or are padding as a whole; pack_units: how many of them a thread writes at
    once; bits: of the arithmetic of offsets.
    """

    num_axes: int
    unit: int
    pack_units: int
    bits: int


class PadPlan(NamedTuple):
    """A launch of one shape between addresses of one alignment.

    src_offset: the bytes from the beginning of src to the copied box.
    sizes: the packs and the units of dst; walk_words: those of the walk.
    """

    variant: PadVariant
    num_items: int
    src_offset: int
    sizes: tuple[int, int]
    walk_words: tuple[int, ...]

    def words(self, element: bytes) -> tuple[int, ...]:
        """Return all words of the kernel but the addresses, for padding of elements of these bytes."""
        unit, contents = self.variant.unit, element * (PACK_BYTES // len(element))
        if unit == PACK_BYTES:
            padding = _WORDS.unpack(contents)
        else:
            padding = tuple([int.from_bytes(contents[at : at + unit], "little", signed=True) for at in (0, unit)])
        return *self.sizes, *padding, *self.walk_words


def usual_pad(itemsize: int) -> PadVariant:
    """Return the kernel that most launches take."""
    return PadVariant(2, itemsize, units_of_pack(itemsize, LONG_ROW, PACK_BYTES), 32)


def pad_plan(shape: PadShape, itemsize: int, src_alignment: int, dst_alignment: int) -> PadPlan:
    """Return the plan; dst has elements. Alignments are the widest units that addresses are multiples of."""
    simple = shape.simplified()
    inner = [part[-1] * itemsize for part in simple]
    unit = widest_unit(src_alignment, dst_alignment, *inner)
    in_units = PadShape(*((*part[:-1], size // unit) for part, size in zip(simple, inner, strict=True)))
    box = in_units.copied()
    count, src_count = math.prod(box.dst_dims), math.prod(box.src_dims)
    bits = 32 if fits_32_bit_offsets(count, src_count) else 64
    pack_units = units_of_pack(unit, box.dst_dims[-1], dst_alignment)
    packs = count // pack_units
    variant = PadVariant(len(box.dst_dims), unit, pack_units, bits)
    return PadPlan(variant, max(packs, pack_units), box.offsets()[1] * unit, (packs, count), region_words(box, bits))
