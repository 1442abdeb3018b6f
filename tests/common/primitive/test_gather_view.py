"""The view of params as outer, gather and inner dims, for a gather along one axis."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.common.primitive.gather_view import gather_view


@pytest.mark.parametrize(
    ("dims", "axis", "batch_dims", "view"),
    [
        ((4, 2, 3, 2, 6), 2, 0, (1, 8, 3, 12)),
        ((4, 2, 3, 2, 6), 0, 0, (1, 1, 4, 72)),
        ((4, 2, 3, 2, 6), 4, 0, (1, 48, 6, 1)),
        ((4, 2, 3, 2, 6), 2, 1, (4, 2, 3, 12)),
        ((4, 2, 3, 2, 6), 2, 2, (8, 1, 3, 12)),
        ((7,), 0, 0, (1, 1, 7, 1)),
        ((4, 0, 3), 0, 0, (1, 1, 4, 0)),
        ((0, 5), 1, 1, (0, 1, 5, 1)),
    ],
)
def test_worked_examples(dims, axis, batch_dims, view):
    assert gather_view(dims, axis, batch_dims) == view


@given(data=st.data())
def test_it_is_a_reshape_that_keeps_the_gathered_axis_apart(data):
    dims = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=5))
    axis = data.draw(st.integers(0, len(dims) - 1))
    view = gather_view(dims, axis, data.draw(st.integers(0, axis)))
    assert math.prod(view) == math.prod(dims)
    params = np.arange(math.prod(dims)).reshape(dims)
    for place in range(dims[axis]):
        np.testing.assert_array_equal(
            params.reshape(view)[:, :, place, :].ravel(), params.take(place, axis=axis).ravel()
        )
