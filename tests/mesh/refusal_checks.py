"""Bad input: the same error on every rank, and no rank waits."""

import numpy as np
import pytest

import ep.ops
from ep.mesh import Placement, from_whole, to_global, under
from ep.mesh.world import world


def refused(kind, words, function):
    """Check that `function` raises `kind` with `words`, on this rank as on all others."""
    with pytest.raises(kind, match=words):
        function()


def check_meshes():
    ranks = world().size
    refused(
        ValueError, rf"a mesh of 2 x 4 has 8 ranks, and this job has {ranks}: mpiexec -n 8", lambda: Placement((2, 4))
    )
    refused(ValueError, f"a mesh of 2 has 2 ranks, and this job has {ranks}", lambda: Placement(2))
    refused(ValueError, "it must have one axis or two", lambda: Placement((1, 1, ranks)))
    refused(ValueError, "of at least one rank each", lambda: Placement((0, 4)))
    refused(TypeError, "mesh must be an integer, not '4'", lambda: Placement("4"))
    mine = ranks if world().rank == 0 else (1, ranks)
    refused(ValueError, rf"mesh is \({ranks},\) on rank 0, and \(1, {ranks}\) on rank 1", lambda: Placement(mine))
    own = (ranks,) if world().rank == 1 else 99
    refused(ValueError, "a mesh of 99 has 99 ranks", lambda: Placement(own))


def check_pieces():
    placement = Placement(world().size)
    rank = placement.rank
    wrong = np.zeros((rank, 3))
    refused(
        ValueError,
        r"local has shape \(0, 3\) on rank 0; S\(0\) of \(\d, 3\), which",
        lambda: to_global(wrong, placement, "S(0)"),
    )
    refused(ValueError, r"local has shape \(1, 3\) on rank 1; B of \(0, 3\)", lambda: to_global(wrong, placement, "B"))
    axes = np.zeros((2,) * (1 + (rank == 1)))
    refused(
        ValueError, r"local has shape \(2, 2\) on rank 1, and \(2,\) on rank 0", lambda: to_global(axes, placement, "P")
    )
    dtype = np.zeros(2, np.float32 if rank == 2 else np.float64)
    refused(TypeError, "dtype float32 on rank 2, and float64 on rank 0", lambda: to_global(dtype, placement, "B"))
    refused(
        ValueError, "sbp B on rank 1, and P on rank 0", lambda: to_global(np.zeros(2), placement, "B" if rank else "P")
    )
    none = object() if rank == 1 else np.zeros(2)
    refused(
        TypeError,
        r"dtype object.*\(on rank 1\)" if rank != 1 else "dtype object",
        lambda: to_global(none, placement, "B"),
    )
    shape = np.zeros(2 + (rank == 1))
    refused(
        ValueError, r"array has shape \(3,\) on rank 1, and \(2,\) on rank 0", lambda: from_whole(shape, placement, "B")
    )


def check_sbps():
    placement = Placement(world().size)
    x = np.zeros((2 * placement.ranks, 3))
    refused(ValueError, r"has no axis 2 to be split along, as S\(2\) says", lambda: from_whole(x, placement, "S(2)"))
    refused(ValueError, r"has no axis 2 to be split along, as S\(2\) says", lambda: to_global(x, placement, "S(2)"))
    tensor = from_whole(x, placement, "S(0)")
    refused(ValueError, "has no axis 4 to be split along", lambda: tensor.to("S(4)"))
    refused(ValueError, "'Q' is not an SBP", lambda: tensor.to("Q"))
    refused(
        ValueError,
        r"sbp S\(0\),B of the tensor is for a mesh of 2 axes, and this is a mesh of",
        lambda: tensor.to("S(0),B"),
    )
    numbers = x.astype(np.complex64)
    refused(ValueError, "local has dtype complex64, which has no order", lambda: to_global(numbers, placement, "PMax"))
    refused(TypeError, "placement must be a Placement, not int", lambda: from_whole(x, 4, "B"))


def check_operators():
    placement = Placement(world().size)
    other = Placement((1, placement.ranks))
    x = from_whole(np.ones((4, 6)), placement, "S(0)")
    y = from_whole(np.ones((4, 6)), other, "B,S(0)")
    refused(
        TypeError,
        r"y \(GlobalTensor\) is on a mesh of 1 x \d ranks.*, x is on a mesh of \d ranks",
        lambda: ep.ops.add(x, y),
    )
    refused(TypeError, r"y \(ndarray\) is on the host, x is on a mesh of", lambda: ep.ops.add(x, np.ones((4, 6))))
    refused(TypeError, "use x // y", lambda: from_whole(np.arange(5), placement, "S(0)") / 2)
    refused(TypeError, "out is given", lambda: ep.ops.add(x, x, out=x))
    refused(TypeError, "is not gathered silently", lambda: np.asarray(x))
    refused(ValueError, r"fill_value has shape \(4, 6\)", lambda: ep.ops.full(3, x))
    with under("S(0), S(0) -> B"):
        refused(
            ValueError,
            r"add has no signature S\(0\), S\(0\) -> B here; it has S\(0\), S\(0\) -> S\(0\);",
            lambda: ep.ops.add(x, x),
        )
    with under("B -> B", "B -> B"):
        refused(ValueError, "2 signatures are asked for", lambda: ep.ops.relu(x))
    refused(ValueError, "'S' is not an SBP", lambda: under("S -> B").__enter__())
    refused(ValueError, "is not a signature", lambda: under("B").__enter__())


def check_an_index_out_of_range_on_one_rank():
    """All ranks raise the error, though only one rank has the index."""
    placement = Placement(world().size)
    table = from_whole(np.arange(12.0), placement, "B")
    tokens = np.zeros(9, np.int64)
    tokens[4] = 12
    indices = from_whole(tokens, placement, "S(0)")
    with under("B, S(0) -> S(0)"):
        refused(IndexError, r"is 12; the axis holds 0 \.\.\. 11", lambda: ep.ops.gather(table, indices))
    assert ep.ops.gather(table, from_whole(np.array([11]), placement, "B")).numpy() == [11]
