"""Sums of segments, of elements that their kernels compute as they add them."""

import numpy as np
import pytest

import ep
from ep.include.data_type import DataType
from ep.ops import copy_to_host as host
from tests.fuse.maps import draw
from tests.fuse.placing import placed
from tests.fuse.test_random_graphs import check

ops = ep.ops
SHAPES = [  # of data, its axis of rows, and the number of segments
    ((40, 33), 0, 7),
    ((7, 64), 0, 7),
    ((3, 20, 40), 1, 50),
    ((300, 2, 48), 0, 1),
    ((1, 32), 0, 3),
    ((600, 300), 0, 5),
]


def several(found):
    return list(map(host, found if isinstance(found, tuple) else (found,)))


def compare(fused, function, kernel, *arrays):
    """Check that a kernel adds up segments, with the bits of the operators one by one."""
    said = fused.explain(*arrays)
    assert kernel in said or "computes no elements as it adds up" in said, said
    check(several(fused(*arrays)), several(function(*arrays)), said)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["float32", "float64", "int32", "complex64", "bfloat16"])
def test_the_bits_of_the_operators_one_by_one(name, shape, device, rng):
    shape, axis, number = shape
    dtype = DataType.kBFloat16.dtype if name == "bfloat16" else np.dtype(name)
    x, w = ((rng.normal(size=size) * 9).astype(dtype) for size in (shape, shape[-1:]))
    ids = rng.integers(-1, number + 1, shape[axis]).astype(np.int32)
    arrays = [placed(device, one) for one in (x, w, ids)]
    added = lambda x, w, ids: ops.segment_sum(x * w + x, ids, number, axis)  # noqa: E731
    compare(ep.fuse(added, round_each=True), added, "reduce kernel of mul add segment_sum", *arrays)


def test_maps_of_sums(device, rng):
    def added(x, w, ids):
        total = ops.segment_sum(x * w, ids, 9)
        return ops.sqrt(ops.abs(total)) + w, total

    x, w = draw(rng, (50, 64), (64,))
    ids = rng.integers(0, 9, 50).astype(np.uint8)
    fused, arrays = ep.fuse(added), [placed(device, one) for one in (x, w, ids)]
    compare(fused, added, "reduce kernel of mul segment_sum abs sqrt add", *arrays)
    out = placed(device, np.zeros((9, 64), np.float32)), placed(device, np.zeros((9, 128), np.float32)[:, ::2])
    fused(*arrays, out=out)
    check(several(out), several(added(*arrays)), "")


@pytest.mark.parametrize(
    ("axis", "batch", "of_indices"), [(0, 0, (6, 5)), (1, 0, (8,)), (1, 1, (3, 7)), (2, 1, (3, 4))]
)
def test_gradients_of_gathers(axis, batch, of_indices, device, rng):
    shape = (*(3, 4, 5)[: axis + 1], 36)
    kept = shape[:axis] + of_indices[batch:] + shape[axis + 1 :]
    dy, scale = draw(rng, kept, (36,))
    size = shape[axis]

    def gradient(dy, scale, indices, mode):
        return ops.gather_grad(dy * scale, indices, shape, axis=axis, batch_dims=batch, mode=mode)

    for mode, low, high in (("raise", 0, size), ("wrap_negative", -size, size), ("clip", -9, 20), ("zero", -9, 20)):
        arrays = [placed(device, one) for one in (dy, scale, rng.integers(low, high, of_indices))]
        of_mode = lambda *arrays, mode=mode: gradient(*arrays, mode)  # noqa: E731
        compare(ep.fuse(of_mode), of_mode, "reduce kernel of mul segment_sum", *arrays)
    wrong = np.zeros(of_indices, np.int64)
    wrong[0] = size
    with pytest.raises(IndexError, match=r"indices(\.flat)?\[0"):
        host(ep.fuse(gradient)(*arrays[:2], placed(device, wrong), "raise"))


def test_messages_between_chosen_rows(device, rng):
    """Rows that are chosen, scaled and added up: one kernel, which writes no row."""

    def passed(x, weights, sources, targets):
        return ops.segment_sum(ops.gather(x, sources) * weights, targets, 12)

    x, weights = draw(rng, (12, 70), (90, 1))
    sources, targets = rng.integers(0, 12, (2, 90))
    arrays = [placed(device, one) for one in (x, weights, sources, targets)]
    compare(ep.fuse(passed), passed, "reduce kernel of gather mul segment_sum", *arrays)


def test_results_in_place_of_what_is_added(device, rng):
    (x,) = draw(rng, (16, 40))
    ids = rng.permutation(16)
    added = lambda x, ids: ops.segment_sum(x * 2.0, ids, 16)  # noqa: E731
    given, ids = placed(device, x), placed(device, ids)
    expected = several(added(given, ids))
    assert ep.fuse(added)(given, ids, out=given) is given
    check([host(given)], expected, "")


def test_what_is_not_joined(rng):
    x, ids = rng.random((40, 33)), rng.integers(0, 4, 40)
    assert "alone: it does not read a map that nothing else reads" in ep.fuse(
        lambda x, ids: ops.segment_sum(x, ids, 4)
    ).explain(x, ids)
    narrow = ep.fuse(lambda x, ids: ops.segment_sum(x * 2.0, ids, 4))
    assert "its rows have 5 elements" in narrow.explain(x[:, :5], ids)
    read_twice = ep.fuse(lambda x, ids: (ops.segment_sum(x * 2.0, ids, 4), x * 2.0))
    assert "map kernel of mul" in read_twice.explain(x, ids)
