"""ep.ops.unfold and fold, compared with loops over windows."""

import numpy as np
import pytest
from ml_dtypes import bfloat16

import ep.ops
from ep.include.primitive import ExpandFactory
from ep.testing.keys import needs_one_of
from tests.ops import window_references

pytestmark = needs_one_of(ExpandFactory)


def drawn(rng, num_axes):
    """Return sizes, a kernel, and attributes of windows; negative padding may remove elements."""
    kernel, strides, dilations = (tuple(map(int, rng.integers(1, 4, num_axes))) for _ in range(3))
    sizes, pads = tuple(map(int, rng.integers(1, 8, num_axes))), tuple(map(int, rng.integers(-2, 4, 2 * num_axes)))
    return sizes, kernel, {"strides": strides, "pads": pads, "dilations": dilations}


@pytest.mark.parametrize(
    "dtype", [np.float32, bfloat16, np.int16, np.bool_, np.complex64], ids=lambda one: np.dtype(one).name
)
def test_unfold_against_the_definition(operate, dtype, rng):
    for num_axes in (1, 2, 3, 2):
        sizes, kernel, given = drawn(rng, num_axes)
        x = rng.integers(-3, 4, (2, 3, *sizes)).astype(dtype)
        np.testing.assert_array_equal(
            operate("unfold", x, kernel, **given), window_references.unfold(x, kernel, **given)
        )


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32], ids=lambda one: np.dtype(one).name)
def test_fold_against_the_definition(operate, dtype, rng):
    for num_axes in (1, 2, 3, 2, 1, 2):
        sizes, kernel, given = drawn(rng, num_axes)
        counts = window_references.counts_of(sizes, kernel, **given)
        windows = rng.integers(-3, 4, (2, 3, *kernel, *counts)).astype(dtype)
        found = operate("fold", windows, sizes, **given)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.astype(np.float64), window_references.fold(windows, sizes, **given))


@pytest.mark.parametrize(
    ("sizes", "kernel", "given"),
    [
        ((6, 4), (2, 2), {"strides": 2}),
        ((7, 9), (2, 3), {"strides": 3, "pads": 1}),
        ((5, 4), (1, 1), {}),
        ((2,), (3,), {}),
        ((0,), (2,), {"pads": 2}),
    ],
    ids=str,
)
def test_each_is_the_transpose_of_the_other(operate, sizes, kernel, given, rng):
    x = rng.normal(size=(2, 3, *sizes))
    windows = operate("unfold", x, kernel, **given)
    by = rng.normal(size=windows.shape)
    np.testing.assert_allclose(np.vdot(windows, by), np.vdot(x, operate("fold", by, sizes, **given)), rtol=1e-12)


X, WINDOWS = np.ones((2, 4, 9), np.float32), np.ones((2, 4, 3, 7), np.float32)


@pytest.mark.parametrize(
    ("name", "arguments", "given", "error", "message"),
    [
        ("unfold", (X[0], 3), {}, ValueError, r"x has shape \(4, 9\); it must have a batch axis"),
        ("unfold", (X, 0), {}, ValueError, r"kernel\[0\] is 0"),
        ("unfold", (X, 3), {"strides": (1, 2)}, ValueError, "strides has 2 values"),
        ("fold", (X, 9), {}, ValueError, r"x has shape \(2, 4, 9\); .* two for each of 1 to 3 spatial axes"),
        ("fold", (WINDOWS[:, :, :0], 9), {}, ValueError, r"x has shape \(2, 4, 0, 7\); a window must have one place"),
        ("fold", (WINDOWS, -1), {}, ValueError, r"sizes\[0\] is -1"),
        ("fold", (WINDOWS, (9, 9)), {}, ValueError, "sizes has 2 values; it must be one integer, or 1 of them"),
        ("fold", (WINDOWS, 10), {}, ValueError, r"has \(7,\) windows; an array of \(10,\) has \(8,\)"),
        ("fold", (WINDOWS, 9), {"dilations": 0}, ValueError, r"dilations\[0\] is 0"),
    ],
)
def test_wrong_arguments(name, arguments, given, error, message):
    with pytest.raises(error, match=message):
        getattr(ep.ops, name)(*arguments, **given)
