"""The dims and axes of a Reduce: those that are refused, and the fewest axes for the others."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.common.primitive.reduce_shape import as_reduce_shape, check_reduces_something
from ep.include.primitive import ReduceOp


def simplified(src_dims, axes):
    return [tuple(axis) for axis in as_reduce_shape(src_dims, axes, 8).simplified()]


def test_neighbours_of_one_kind_are_one():
    assert simplified((2, 1, 3, 5, 7), (2, 3)) == [(2, False), (15, True), (7, False)]
    assert simplified((2, 3, 5), ()) == [(30, False)]
    assert simplified((2, 3, 5), (2, 0, -2)) == [(30, True)]
    assert simplified((2, 3, 5, 7), (-1, 1)) == [(2, False), (3, True), (5, False), (7, True)]


def test_axes_of_size_1_go():
    assert simplified((3, 1, 5), (1,)) == [(15, False)]
    assert simplified((1, 1), (0,)) == [(1, False)]
    assert simplified((), ()) == [(1, False)]


def test_dims_of_dst():
    shape = as_reduce_shape((2, 3, 0, 5), (-2, 0), 4)
    assert shape.dst_dims() == (3, 5)
    assert shape.counts() == (0, 15)
    assert as_reduce_shape((), (), 0).counts() == (1, 1)


@given(dims=st.lists(st.integers(1, 4), max_size=8), data=st.data())
def test_the_simplified_axes_reduce_to_the_same(dims, data):
    axes = data.draw(st.lists(st.sampled_from(range(len(dims))), unique=True)) if dims else []
    src = np.arange(math.prod(dims))
    shape = as_reduce_shape(dims, axes, 8)
    kept = shape.simplified()
    got = src.reshape([axis.size for axis in kept]).sum(axis=tuple(i for i, axis in enumerate(kept) if axis.reduced))
    assert (got.reshape(-1) == src.reshape(dims).sum(axis=tuple(axes)).reshape(-1)).all()
    assert all(one.reduced is not other.reduced for one, other in itertools.pairwise(kept))


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"axes\[1\] is 2; src_dims \(3, 4\) has 2 axes"):
        as_reduce_shape((3, 4), (0, 2), 8)
    with pytest.raises(ValueError, match=r"axes\[0\] is -3; src_dims"):
        as_reduce_shape((3, 4), (-3,), 8)
    with pytest.raises(ValueError, match=r"axes\[0\] is 0; src_dims \(\) has 0 axes"):
        as_reduce_shape((), (0,), 8)
    with pytest.raises(ValueError, match=r"axes \(1, -1\) name an axis of src_dims \(3, 4\) twice"):
        as_reduce_shape((3, 4), (1, -1), 8)
    with pytest.raises(TypeError, match="axes must be a sequence of integers, not 1"):
        as_reduce_shape((3, 4), 1, 8)
    with pytest.raises(TypeError, match=r"axes\[0\] must be an integer, not 1.0"):
        as_reduce_shape((3, 4), (1.0,), 8)
    with pytest.raises(ValueError, match="src_dims has 3 dims; this primitive was made for at most 2"):
        as_reduce_shape((3, 4, 5), (1,), 2)


def test_the_least_of_nothing():
    empty = as_reduce_shape((3, 0), (1,), 2)
    for op in (ReduceOp.kMin, ReduceOp.kMax):
        words = rf"src_dims \(3, 0\) has no elements along axes \(1,\); a {op.name[1:].lower()}imum of none"
        with pytest.raises(ValueError, match=words):
            check_reduces_something(op, empty)
        check_reduces_something(op, as_reduce_shape((3, 0), (0,), 2))
    check_reduces_something(ReduceOp.kSum, empty)
