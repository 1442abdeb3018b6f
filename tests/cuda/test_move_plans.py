"""The plans of launches of ConstantPad and of moves by a walk."""

import pytest

from ep.common.primitive.pad_shape import PadShape
from ep.common.primitive.region_copy import RegionCopy
from ep.cuda.engine.move.pad_plan import pad_plan
from ep.cuda.engine.move.plan import move_plan


@pytest.mark.parametrize(
    ("shape", "itemsize", "alignments", "variant"),
    [
        (PadShape((8, 16), (1, 4), (1, 8)), 4, (16, 16), (2, 16, 1, 32)),
        (PadShape((8, 16), (1, 4), (1, 8)), 4, (8, 16), (2, 8, 1, 32)),
        (PadShape((8, 16), (1, 4), (1, 8)), 4, (16, 8), (2, 8, 1, 32)),
        (PadShape((8, 16), (1, 4), (1, 7)), 4, (16, 16), (2, 4, 1, 32)),
        (PadShape((8, 1), (1, 1), (1, 0)), 1, (16, 16), (2, 1, 1, 32)),
        (PadShape((8, 1), (1, 1), (1, 1)), 1, (16, 16), (2, 1, 4, 32)),
        (PadShape((8, 515), (1, 4), (1, 1)), 1, (16, 16), (2, 1, 4, 32)),
        (PadShape((8, 515), (1, 4), (1, 1)), 1, (16, 2), (2, 1, 1, 32)),
        (PadShape((8, 3, 5), (1, 0, 0), (1, 0, 0)), 2, (16, 16), (1, 2, 1, 32)),
        (PadShape((8, 3, 5), (1, 2, 0), (1, 0, 0)), 16, (8, 16), (2, 8, 1, 32)),
        (PadShape((2, 2**29 - 3), (0, 1), (0, 1)), 1, (16, 16), (2, 1, 4, 32)),
        (PadShape((2, 2**30), (0, 1), (0, 1)), 1, (16, 16), (2, 1, 4, 64)),
    ],
    ids=str,
)
def test_variants_of_padding(shape, itemsize, alignments, variant):
    assert pad_plan(shape, itemsize, *alignments).variant == variant


def test_cropping_beyond_all_that_is_there_needs_no_wide_words():
    """Only the offset of src exceeds 32 bits, and src is not read."""
    plan = pad_plan(PadShape((5, 3), (-(10**12), 0), (10**12, 0)), 4, 16, 16)
    assert plan.variant.bits == 32
    assert all(0 <= word < 2**31 for word in plan.walk_words)
    assert plan.walk_words[2] == 0  # no element of src is read


@pytest.mark.parametrize(
    ("extent", "itemsize", "alignments", "variant"),
    [
        ((8, 16), 4, (16, 16), (2, 16, 0, 32)),
        ((8, 16), 4, (16, 4), (2, 4, 0, 32)),
        ((8, 15), 4, (16, 16), (2, 4, 0, 32)),
        ((8, 20), 4, (16, 16), (1, 16, 1, 32)),
        ((8, 16), 16, (8, 16), (3, 8, 0, 32)),
    ],
    ids=str,
)
def test_variants_of_copies_of_boxes(extent, itemsize, alignments, variant):
    walk = RegionCopy((9, 20), (0, 0), (8, 20), (0, 0), extent).walk()
    assert move_plan(walk, itemsize, *alignments).variant == variant
