"""Reduce kernels on the device under test: maps before a reduction have the bits of the operators one by one."""

import numpy as np
import pytest

import ep
from ep.include.primitive.structure import kMaxRow
from ep.ops import copy_to_host as host
from tests.fuse.placing import part, placed
from tests.fuse.test_random_graphs import bits, draw_array

ops = ep.ops
REDUCED = {
    "long rows": ((2, kMaxRow + 8), 1),
    "long rows without packs": ((2, kMaxRow + 1), -1),
    "all, and a rest": ((kMaxRow + 3,), None),
    "columns": ((33, 24), 0),
    "columns without packs": ((70, 3), 0),
    "a thread of every other axis": ((2, 3, 8), (0, 2)),
    "part of a warp": ((4, 3, 24), (0, 2)),
    "a warp": ((8, 3, 63), (0, 2)),
    "several blocks": ((2, 20_000), 1),
}
"""Shapes and axes that give different kinds of kernels, but no row kernels."""


def compare(function, *arrays, round_each=False):
    """Check that a function is one reduce kernel, and has the bits of its operators one by one; return the results."""
    fused = ep.fuse(function, round_each=round_each)
    assert fused.explain(*arrays).count("reduce kernel") == 1, fused.explain(*arrays)
    found = host(fused(*arrays))
    assert bits(found) == bits(host(function(*arrays)))
    return found


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "any"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int8, np.complex64])
@pytest.mark.parametrize("case", REDUCED)
def test_the_bits_of_the_operators_one_by_one(case, dtype, name, device, rng):
    if name == "max" and dtype == np.complex64:
        return
    shape, axis = REDUCED[case]
    x, y = (placed(device, (rng.normal(size=one) * 9).astype(dtype)) for one in (shape, shape[-1:]))
    compare(lambda x, y: getattr(ops, name)(x * y - x, axis=axis), x, y)


@pytest.mark.parametrize("data_type", [ep.DataType.kFloat16, ep.DataType.kBFloat16], ids=str)
def test_what_is_reduced_stays_in_float32(data_type, device, rng):
    x = rng.random((100, 24)).astype(data_type.dtype)
    total = lambda x: ops.mean(x * x, 0)  # noqa: E731
    compare(total, placed(device, x), round_each=True)
    of_wide = host(ep.fuse(total)(placed(device, x.astype(np.float32))))
    assert bits(host(ep.fuse(total)(placed(device, x)))) == bits(of_wide.astype(data_type.dtype))


def test_strided_and_broadcast_operands(device, rng):
    arrays = [placed(device, draw_array(rng, shape, ep.DataType.kFloat)) for shape in ((9, 1, 40), (7, 40), (7, 1))]
    for axis in (0, (0, 1)):
        compare(lambda x, y, z, axis=axis: ops.max(ops.abs(x - y) * z, axis), *arrays)


@pytest.mark.parametrize(("shape", "axis"), [((33, 24), 0), ((4, 7, 30), (0, 2)), ((kMaxRow + 9,), 0)], ids=str)
def test_an_operand_is_read_before_and_after_the_reduction(shape, axis, device, rng):
    """It has one element along the reduced axes, so it is broadcast before the reduction, and is not after it."""
    x, y = rng.normal(size=shape), rng.normal(size=np.sum(np.ones(shape), axis, keepdims=True).shape)

    def shifted(x, y):
        return ops.log(ops.sum(ops.exp(x - y), axis, keepdims=True)) + y

    found = compare(shifted, placed(device, x), placed(device, y))
    np.testing.assert_allclose(found, np.log(np.exp(x).sum(axis, keepdims=True)), rtol=1e-12)


def test_numbers_and_places_of_packs(device, rng):
    """A number is passed at each launch; an array may have any alignment."""
    fused = ep.fuse(lambda x, rate: ops.sum(ops.square(x * rate), None))
    x = placed(device, rng.random(603, np.float32))
    for begin, rate in ((0, 0.5), (1, 0.5), (0, 2.0)):
        one = part(x, begin, 600 + begin)
        assert bits(host(fused(one, rate))) == bits(host(ops.sum(ops.square(ops.mul(one, rate)), None)))


def test_outputs_that_are_inputs_and_strided_ones(device, rng):
    total = lambda x, v: ops.sum(x * v, 0)  # noqa: E731
    x, v = placed(device, rng.random((40, 12), np.float32)), placed(device, rng.random(12, np.float32))
    expected, fused = host(total(x, v)), ep.fuse(total)
    out = placed(device, np.zeros((12, 2), np.float32)[:, 0])
    fused(x, v, out=out)
    assert bits(host(out)) == bits(expected)
    assert fused(x, v, out=v) is v
    assert bits(host(v)) == bits(expected)


def test_without_elements(device):
    fused = ep.fuse(lambda x: ops.sum(x * x, 0))
    assert host(fused(placed(device, np.zeros((0, 3), np.float32)))).tolist() == [0, 0, 0]
    assert fused(placed(device, np.zeros((3, 0), np.float32))).shape == (0,)


def test_a_mean_that_would_overflow_on_the_way(device):
    found = compare(lambda x: ops.mean(x * 1.5, 0), placed(device, np.full((600, 3), 1e308)))
    assert np.isfinite(found).all()


@pytest.mark.parametrize("case", REDUCED)
def test_maps_of_what_is_reduced(case, device, rng):
    shape, axis = REDUCED[case]
    x = rng.random(shape, np.float32)
    w = placed(device, rng.random(np.sum(x, axis).shape, np.float32))
    compare(lambda x, w: ops.sqrt(ops.sum(x * x, axis)) * w, placed(device, x), w)
    compare(lambda x, w: ops.mean(x, axis) - w, placed(device, x), w)
