"""Copies and pickles of fused functions."""

import copy
import pickle

import numpy as np
import pytest

import ep
from tests.subprocesses import run

WAYS = [copy.copy, copy.deepcopy, lambda function: pickle.loads(pickle.dumps(function))]


@ep.fuse
def doubled(x):
    return x * 2


def loss(w):
    return ep.ops.sum(w * w)


@ep.grad
def slope(w):
    return ep.ops.sum(w * w)


def plus_one(x):
    return x + 1


class Layer:
    def __init__(self, axis):
        self.axis = axis
        self.fast = ep.fuse(self.summed)

    def summed(self, x):
        return ep.ops.sum(x * x, self.axis)

    @ep.fuse
    def scaled(self, x):
        return x * 3


@pytest.fixture
def x(rng):
    return rng.normal(size=(5, 7))


@pytest.mark.parametrize("way", WAYS, ids=["copy", "deepcopy", "pickle"])
def test_a_function_of_a_module_is_itself_also_after_a_call(x, way):
    for _ in range(2):
        assert way(doubled) is doubled
        assert way(Layer.scaled) is Layer.scaled
        np.testing.assert_array_equal(doubled(x), x * 2)


@pytest.mark.parametrize("way", WAYS, ids=["copy", "deepcopy", "pickle"])
def test_another_one_is_fused_anew(x, way):
    fused = ep.fuse(plus_one, round_each=True)
    expected = fused(x)
    other = way(fused)
    assert other is not fused
    assert other.__name__ == "plus_one"
    np.testing.assert_array_equal(other(x), expected)
    halves = x.astype(np.float16)
    assert other(halves).tobytes() == fused(halves).tobytes()


def test_a_deep_copy_of_an_object_has_its_own_methods(x):
    layer = Layer(0)
    layer.fast(x)
    other = copy.deepcopy(layer)
    other.axis = 1
    np.testing.assert_allclose(other.fast(x), (x * x).sum(1))
    np.testing.assert_allclose(layer.fast(x), (x * x).sum(0))


def test_lambdas_and_gradients_have_deep_copies(x):
    for fused in (ep.fuse(lambda x: ep.ops.sum(x * x, None)), ep.grad(lambda x: ep.ops.sum(x * x, None))):
        expected = fused(x)
        np.testing.assert_array_equal(copy.deepcopy(fused)(x), expected)


def test_a_pool_of_processes_calls_fused_functions():
    program = """
import multiprocessing
import sys
import numpy as np
from tests.fuse.test_copies import doubled

if __name__ == "__main__":
    doubled(np.ones(3))
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print([found.tolist() for found in pool.map(doubled, [np.ones(3), np.zeros(2)])])
"""
    assert run(program).strip() == "[[2.0, 2.0, 2.0], [0.0, 0.0]]"


@pytest.mark.parametrize("way", WAYS, ids=["copy", "deepcopy", "pickle"])
def test_gradients_of_a_function_of_a_module(x, way):
    assert way(slope) is slope
    np.testing.assert_array_equal(way(ep.grad(loss, argnums=-1))(x), 2 * x)
    value, found = way(ep.value_and_grad(loss, by=("w",)))(x)
    assert float(value) == pytest.approx((x * x).sum())
    np.testing.assert_array_equal(found[0], 2 * x)
    pair = way(ep.grad(with_rest, has_aux=True))
    np.testing.assert_array_equal(pair(x)[1], x + 1)
    with pytest.raises(TypeError, match="has_aux"):
        way(ep.grad(with_text, has_aux=True))(x)


def with_rest(w):
    return loss(w), w + 1


def with_text(w):
    return loss(w), "text"
