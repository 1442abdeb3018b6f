"""Arguments that are given by name alone, since no error would show that two of them are exchanged."""

import inspect

import numpy as np
import pytest

import ep.ops
from ep.ops import copy_to_host as host
from tests.fuse.placing import placed


@pytest.mark.parametrize("name", ["softmax_grad", "log_softmax_grad"])
def test_gradients_of_softmaxes(name, device, rng):
    given = rng.normal(size=(2, 5, 7)).astype(np.float32)
    of_result = rng.normal(size=(2, 5, 7)).astype(np.float32)
    x, dy = placed(device, given), placed(device, of_result)
    function = getattr(ep.ops, name)
    for axis in (-1, 1):
        y = getattr(ep.ops, name.removesuffix("_grad"))(x, axis)
        wide_y, wide_dy = host(y).astype(np.float64), of_result.astype(np.float64)
        if name == "softmax_grad":
            wanted = (wide_dy - (wide_y * wide_dy).sum(axis, keepdims=True)) * wide_y
        else:
            wanted = wide_dy - np.exp(wide_y) * wide_dy.sum(axis, keepdims=True)
        for _ in range(2):
            np.testing.assert_allclose(host(function(dy=dy, y=y, axis=axis)), wanted, 1e-5, 1e-5)
            np.testing.assert_allclose(host(function(y=y, axis=axis, dy=dy)), wanted, 1e-5, 1e-5)
        fused = ep.fuse(lambda y, dy, axis=axis: function(dy=dy, y=y, axis=axis))
        np.testing.assert_allclose(host(fused(y, dy)), wanted, 1e-5, 1e-5)
        out = ep.ops.identity(x)
        assert function(dy=dy, y=y, axis=axis, out=out) is out
    with pytest.raises(TypeError, match=rf"{name} takes all arguments by name, .*, and 2 by position came"):
        function(y, dy)
    with pytest.raises(TypeError, match=f"{name} needs dy and y"):
        function()
    with pytest.raises(TypeError, match=f"{name} needs dy$"):
        function(y=y)
    assert [*inspect.signature(function).parameters] == ["dy", "y", "axis", "out"]


@pytest.mark.parametrize("name", ["is_close", "is_close_equal_nan"])
def test_tolerances(name, device):
    x, y = placed(device, np.float32([1, 100, np.nan])), placed(device, np.float32([1.5, 101, np.nan]))
    function, nan = getattr(ep.ops, name), name == "is_close_equal_nan"
    assert host(function(x, y, rtol=0.02)).tolist() == [False, True, nan]
    assert host(function(x, y, atol=0.5, rtol=0)).tolist() == [True, False, nan]
    assert host(function(x, y, attr0=0.5, attr1=0)).tolist() == [True, False, nan]
    for given in ((0.5,), (0.02, 0.5)):
        with pytest.raises(TypeError, match=rf"{name}\(\) takes atol and rtol by name"):
            function(x, y, *given)


def test_isclose_is_numpys(device):
    """Its tolerances have NumPy's order."""
    a, b = np.float64([1, 100, np.nan, np.inf, 0]), np.float64([1.5, 101, np.nan, np.inf, 1e-9])
    x, y = placed(device, a), placed(device, b)
    for args in ((), (0.02,), (0.02, 0.5), (0, 0.5), (0, 0, True), (1e-5, 1e-8, True)):
        wanted = np.isclose(a, b, *args)
        assert np.array_equal(host(ep.ops.isclose(x, y, *args)), wanted)
        assert np.array_equal(host(ep.fuse(lambda x, y, args=args: np.isclose(x, y, *args))(x, y)), wanted)
    out = ep.ops.equal(x, x)
    assert ep.ops.isclose(x, y, out=out, equal_nan=True) is out
    assert host(out).tolist() == [False, False, True, True, True]
    with pytest.raises(TypeError, match="equal_nan must be True or False, not 1"):
        ep.ops.isclose(x, y, equal_nan=1)
