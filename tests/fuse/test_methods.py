"""Objects among the arguments of fused functions, and fused methods: a change of an attribute is never missed."""

import dataclasses
import enum
import functools
import math
import pickle

import numpy as np
import pytest

import ep

X = np.float32([1, 2, 4])


class Layer:
    scale = 2.0

    @ep.fuse
    def __call__(self, x):
        return x * self.scale


class Slotted:
    __slots__ = ("scale",)


class Colour(enum.Enum):
    RED = 3.0


@dataclasses.dataclass(frozen=True)
class Scale:
    scale: float

    @ep.fuse
    def times(self, x):
        return x * self.scale


def test_an_object_whose_attributes_may_change_is_refused():
    layer = Layer()
    np.testing.assert_array_equal(layer(X), X * 2)
    layer.scale = 5.0
    with pytest.raises(TypeError, match=r"^self is of Layer, whose attributes a trace would read only once; pass them"):
        layer(X)
    slotted = Slotted()
    slotted.scale = 3.0
    for given in (layer, slotted):
        with pytest.raises(TypeError, match=r"^by is of .*attributes"):
            ep.fuse(lambda x, by: x * by.scale)(X, given)
        with pytest.raises(TypeError, match=r"^by\[1\] is of .*attributes"):
            ep.fuse(lambda x, by: x * by[1].scale)(X, [1, given])


def test_methods_of_frozen_dataclasses():
    for scale in (2.0, 5.0, 2.0):
        bound = Scale(scale).times
        np.testing.assert_array_equal(bound(X), X * np.float32(scale))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(bound))(X), X * np.float32(scale))
        assert str(bound.explain(X)) == str(Scale.times.explain(Scale(scale), X))


def test_objects_that_do_not_change():
    cases = [
        (lambda x, f: f(x), ep.ops.square, X * X),
        (lambda x, f: f(x), ep.fuse(lambda x: x + 1), X + 1),
        (lambda x, f: f(x), lambda x: x - 1, X - 1),
        (lambda x, f: f(x), functools.partial(ep.ops.add, 2.0), X + 2),
        (lambda x, f: f(x), np.negative, -X),
        (lambda x, m: x * m.floor(2.5), math, X * 2),
        (lambda x, kind: x * kind.scale, Layer, X * 2),
        (lambda x, colour: x * colour.value, Colour.RED, X * 3),
        (lambda x, other: x * 2, object(), X * 2),
    ]
    for function, given, expected in cases:
        np.testing.assert_array_equal(ep.fuse(function)(X, given), expected)


@pytest.mark.parametrize(
    "kind", [np.dtype("float64"), "float64", float, np.float64, np.ndarray, np.float32, Layer, int]
)
def test_classes_are_no_arrays(kind):
    np.testing.assert_array_equal(ep.fuse(lambda x, kind: x * 2)(X, kind), X * 2)
    if kind is np.float64:
        assert ep.fuse(lambda x, kind: x.astype(kind))(X, kind).dtype == np.float64
