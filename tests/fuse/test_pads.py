"""Pads in kernels: the kernels of the maps of padded arrays read the arrays where they are."""

import numpy as np
import pytest

import ep
from ep.include.data_type import DataType
from ep.ops import copy_to_host as host
from tests.fuse.maps import draw
from tests.fuse.placing import placed
from tests.fuse.test_random_graphs import check
from tests.fuse.test_segments import several

ops = ep.ops


@pytest.mark.parametrize("name", ["float32", "int16", "complex64", "bfloat16", "bool"])
def test_the_bits_of_the_operators_one_by_one(name, device, rng):
    dtype = DataType.kBFloat16.dtype if name == "bfloat16" else np.dtype(name)
    for shape, axis, widths in (((5, 33), 0, (2, 1)), ((3, 4, 20), 1, (-1, 3)), ((4, 6, 2, 9), 1, (0, 2))):
        x = placed(device, (rng.normal(size=shape) * 9).astype(dtype))
        width = [widths if one == axis else (0, 0) for one in range(len(shape))]

        def padded(x, width=width):
            more = ops.pad(x, width)
            return ops.where(more == more, more, more), more

        fused = ep.fuse(padded)
        assert "map kernel of gather equal where" in fused.explain(x)
        check(several(fused(x)), several(padded(x)), "")


def test_a_sum_over_windows_and_a_norm(device, rng):
    """A causal filter along an axis of steps, and a norm of its rows: two kernels, which write no padded array."""

    def filtered(x, w):
        total = sum(ops.pad(x, ((0, 0), (k, -k), (0, 0))) * w[k] for k in range(1, 3)) + x * w[0]
        return total * ops.rsqrt(ops.mean(total * total, -1, keepdims=True) + 1e-5)

    x, w = draw(rng, (2, 9, 32), (3, 32))
    arrays = [placed(device, one) for one in (x, w)]
    fused = ep.fuse(filtered)
    said = fused.explain(*arrays)
    assert said.count("kernel") == 1, said
    assert "operator" not in said
    expected = sum(np.pad(x, ((0, 0), (k, 0), (0, 0)))[:, : x.shape[1]] * w[k] for k in range(3))
    expected = expected / np.sqrt(np.mean(np.square(expected), -1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(host(fused(*arrays)), expected, rtol=1e-5, atol=1e-6)


def test_what_is_padded_is_not_overwritten(device, rng):
    (x,) = draw(rng, (6, 32))
    shifted = lambda x: ops.pad(x, ((1, -1), (0, 0))) + 1.0  # noqa: E731
    given = placed(device, x)
    expected = several(shifted(given))
    assert ep.fuse(shifted)(given, out=given) is given
    check([host(given)], expected, "")


def test_what_is_not_joined(device, rng):
    (x,) = draw(rng, (6, 32))
    given = placed(device, x)
    for width, value, why in (
        (((0, 0), (1, 1)), 0, "its rows have 1 elements"),
        (1, 0, "it pads several axes"),
        (((1, 0), (0, 0)), -0.0, "another number than 0"),
    ):
        fused = ep.fuse(lambda x, width=width, value=value: ops.pad(x, width, constant_values=value) * 2.0)
        assert why in fused.explain(given)
        assert np.array_equal(host(fused(given)), np.pad(x, width, constant_values=value) * 2)
