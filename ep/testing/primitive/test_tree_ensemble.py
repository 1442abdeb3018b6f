"""TreeEnsemble: every key, all modes of nodes, NaN, sizes across threads and blocks, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ep.common.primitive.tree_nodes import NodeMode, Nodes, packed
from ep.include import DataType
from ep.include.primitive import TreeAggregate, TreeEnsembleFactory
from ep.testing.arrays import Array, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, some_key
from ep.testing.references.tree_ensemble import random_trees, tree_ensemble
from ep.testing.refusals import Refused
from ep.testing.refused_arguments import OfAnyLaunch
from ep.testing.samples import sized

T = DataType
FLOAT = (TreeAggregate.kSum, T.kFloat)
SOME = [FLOAT, (TreeAggregate.kMin, T.kDouble), (TreeAggregate.kMax, T.kFloat)]


def features(rng: Rng, key: FlatKey, rows: int, count: int) -> Array:
    """Return features of which some are those of thresholds, some NaN, and some infinite."""
    x = rng.normal(size=(rows, count)).round(1)
    special = rng.random(x.shape) < 0.2
    x[special] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], int(special.sum()))
    return x.astype(key[1].dtype)


def launch(device: DeviceUnderTest, key: FlatKey, x: Array, words: Array, roots: Array, num_targets: int) -> Any:
    out = device.filled(len(x) * num_targets + 3, key[1])
    sizes = *x.shape, num_targets, len(words), len(roots)
    buffers = [device.buffer(one) for one in (x.reshape(-1), words, roots)]
    device.require(TreeEnsembleFactory, *key).Launch(device.stream, *sizes, *buffers, out)
    return device.written(out, (len(x), num_targets))


def check(
    device: DeviceUnderTest, rng: Rng, key: FlatKey, rows: int, sizes: tuple[int, int, int], num_targets: int
) -> None:
    nodes, roots = random_trees(rng, key[1].dtype, sizes, num_targets)
    x = features(rng, key, rows, sizes[2])
    found = launch(device, key, x, *packed(nodes, roots, num_targets), num_targets)
    np.testing.assert_array_equal(found, tree_ensemble(key[0], x, nodes, roots, num_targets))


@every_key(TreeEnsembleFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    for rows, sizes, num_targets in ((11, (5, 9, 4), 1), (3, (13, 7, 5), 3), (1, (19, 11, 2), 1), (7, (1, 1, 1), 2)):
        check(device, rng, key, rows, sizes, num_targets)


@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 17, 511, 513, 2003])
@some_key(TreeEnsembleFactory, *SOME)
def test_every_number_of_rows(device: DeviceUnderTest, rng: Rng, key: FlatKey, rows: int) -> None:
    check(device, rng, key, sized(device, rows, min(rows, 40)), (11, 9, 7), 1)
    check(device, rng, key, sized(device, rows, min(rows, 40)), (3, 13, 3), 5)


@pytest.mark.parametrize("sizes", [(1, 2, 1), (7, 3, 5000), (8, 40, 3), (9, 200, 11), (101, 5, 13)], ids=str)
@some_key(TreeEnsembleFactory, *SOME)
def test_every_size_of_trees(device: DeviceUnderTest, rng: Rng, key: FlatKey, sizes: tuple[int, int, int]) -> None:
    for rows in (2, 19):
        check(device, rng, key, rows, sizes, 1)


@some_key(TreeEnsembleFactory, *SOME)
def test_every_mode_beside_its_threshold(device: DeviceUnderTest, key: FlatKey) -> None:
    """A comparison is exact for the numbers next to a threshold, for zeros of both signs, and for infinity."""
    dtype = key[1].dtype
    limits = np.array([1.5, 0.0, -0.0, np.inf, -np.inf, np.nan, np.finfo(dtype).tiny], dtype)
    with np.errstate(all="ignore"):
        near = [limits, np.nextafter(limits, dtype.type(np.inf)), np.nextafter(limits, dtype.type(-np.inf))]
    x = np.unique(np.concatenate([*near, [-0.0]]).astype(dtype)).reshape(-1, 1)
    for mode in [one for one in NodeMode if one is not NodeMode.LEAF]:
        for limit in limits:
            for nan_is_true in (False, True):
                nodes = Nodes(
                    *(np.array([mode, 0, 0]), np.zeros(3, np.int64), np.array([limit, 0, 0], dtype)),
                    *(np.array([1, 0, 0]), np.array([2, 0, 0]), np.full(3, nan_is_true)),
                    *(np.array([1, 2]), np.zeros(2, np.int64), np.array([3, 5], dtype)),
                )
                roots = np.zeros(1, np.int64)
                found = launch(device, key, x, *packed(nodes, roots, 1), 1)
                np.testing.assert_array_equal(found, tree_ensemble(key[0], x, nodes, roots, 1))


@some_key(TreeEnsembleFactory, *SOME)
def test_words_that_are_no_trees(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    """Nothing but the buffers is read or written, and each walk ends."""
    x = features(rng, key, 11, 3)
    for num_targets in (1, 3):
        words, roots = packed(*random_trees(rng, key[1].dtype, (3, 5, 3), num_targets), num_targets)
        for _ in range(20):
            wrong, others = words.copy(), roots.copy()
            wrong[rng.integers(0, len(words), 9)] = rng.choice([-(2**31), -7, -1, 1, 5, 99, 2**31 - 1], 9)
            others[0] = rng.choice([-(2**31), -1, 1, len(words) - 1, 2**31 - 1])
            assert launch(device, key, x, wrong, others, num_targets).shape == (11, num_targets)


@pytest.mark.parametrize("shape", [(0, 3, 2), (5, 3, 0)], ids=str)
@some_key(TreeEnsembleFactory, FLOAT)
def test_nothing_to_write(device: DeviceUnderTest, key: FlatKey, rng: Rng, shape: tuple[int, int, int]) -> None:
    nodes, roots = random_trees(rng, key[1].dtype, (2, 3, 3), 1)
    rows, count, num_targets = shape
    assert launch(device, key, np.zeros((rows, count), key[1].dtype), *packed(nodes, roots, 1), num_targets).size == 0


@some_key(TreeEnsembleFactory, FLOAT)
def test_without_trees(device: DeviceUnderTest, key: FlatKey) -> None:
    for count in (0, 3):
        found = launch(device, key, np.ones((5, count), key[1].dtype), np.zeros(0, np.int32), np.zeros(0, np.int32), 2)
        np.testing.assert_array_equal(found, np.zeros((5, 2)))


@some_key(TreeEnsembleFactory, FLOAT)
class TestRefusals(OfAnyLaunch):
    factory, output = TreeEnsembleFactory, "out"
    sizes = "num_rows", "num_features", "num_targets", "num_words", "num_trees"

    def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        words = np.zeros(5, np.int32)  # a leaf
        arrays = {"nodes": device.buffer(words), "roots": device.buffer(np.zeros(1, np.int32))}
        x, out = device.buffer(np.ones(6, key[1].dtype)), device.filled(2, key[1])
        return {**dict(zip(self.sizes, (2, 3, 1, 5, 1), strict=True)), "x": x, **arrays, "out": out}

    def test_sizes(self, refused: Refused) -> None:
        refused(ValueError, "num_features is 0; the nodes of trees read features", num_features=0)
        refused(ValueError, "num_words is 4; a tree has [56] words or more", num_words=4)
        refused(ValueError, r"num_words is 2147483648; it must be below 2\*\*31", num_words=2**31)

    def test_overlap(self, device: DeviceUnderTest, key: FlatKey, refused: Refused) -> None:
        memory = device.filled(8, key[1])
        refused(ValueError, "out overlaps x", x=memory[:6], out=memory[5:7])
