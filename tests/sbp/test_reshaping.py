"""Reshapes of split tensors: each rank's piece, reshaped, is its piece of the reshaped tensor."""

import itertools
import math

import numpy as np
import pytest

from ep.sbp import Split, parse_many, region_on, reshaped_sbps

SHAPES = [
    (),
    (1,),
    (6,),
    (6, 1),
    (2, 3),
    (3, 2),
    (12, 5),
    (4, 3, 5),
    (4, 15),
    (60,),
    (2, 2, 3, 5),
    (5, 12),
    (1, 4, 1, 15),
    (0, 3),
    (3, 0),
    (0,),
    (2, 0, 5),
    (7, 8),
    (56,),
    (2, 4, 7),
]
MESHES = [(2,), (3,), (4,), (2, 2), (3, 2)]


def pairs():
    for one, other in itertools.product(SHAPES, SHAPES):
        if math.prod(one) == math.prod(other):
            yield one, other


@pytest.mark.parametrize("mesh", MESHES)
def test_pieces(mesh):
    count = 0
    for shape, sizes in pairs():
        whole = np.arange(math.prod(shape)).reshape(shape)
        axes = [*(f"S({axis})" for axis in range(len(shape))), "B", "P"]
        for text in itertools.product(axes, repeat=len(mesh)):
            sbps = parse_many(",".join(text))
            first, after = reshaped_sbps(shape, sizes, sbps, mesh)
            for one, kept, then in zip(sbps, first, after, strict=True):
                assert kept == one or (isinstance(one, Split) and str(kept) == str(then) == "B")
            for rank in itertools.product(*map(range, mesh)):
                piece = whole[region_on(shape, first, mesh, rank)]
                wanted = whole.reshape(sizes)[region_on(sizes, after, mesh, rank)]
                assert np.array_equal(piece.reshape(wanted.shape), wanted), (shape, sizes, text)
            count += any(isinstance(one, Split) for one in after)
    assert count > 60


@pytest.mark.parametrize(
    ("shape", "sizes", "sbp", "mesh", "wanted"),
    [
        ((4, 6), (24,), "S(0)", (2,), "S(0)"),
        ((24,), (4, 6), "S(0)", (2,), "S(0)"),
        ((24,), (4, 6), "S(0)", (3,), "B"),  # 8 elements each, and no whole rows of 6
        ((4, 6), (24,), "S(1)", (2,), "B"),
        ((4, 6, 5), (24, 5), "S(2)", (3,), "S(1)"),
        ((4, 6), (2, 2, 6), "S(1)", (4,), "S(2)"),
        ((1, 7, 1, 5), (7, 1, 5), "S(1)", (4,), "S(0)"),
        ((1, 7), (7,), "S(0)", (2,), "B"),
        ((8, 3), (24,), "S(0),S(0)", (2, 2), "S(0),S(0)"),
        ((8, 3), (24,), "S(0),S(1)", (2, 2), "S(0),B"),
        ((8, 3), (24,), "S(0),P", (2, 2), "S(0),P"),
    ],
)
def test_which_stay(shape, sizes, sbp, mesh, wanted):
    assert ",".join(map(str, reshaped_sbps(shape, sizes, parse_many(sbp), mesh)[1])) == wanted
