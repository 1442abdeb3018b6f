"""Products that are written with exchanged axes, matrices that are read before they are exchanged or repeated, and
elements that are read before they are repeated."""

import numpy as np
import pytest

import ep
from ep import DeviceType
from ep.ops import copy_to_host as host
from tests.fuse.placing import placed
from tests.fuse.test_programs import Repeated
from tests.fuse.test_views import shape_of

ops, mm = ep.ops, ep.ops.matmul


def exchanged(x):
    axes = [*range(len(x.shape))]
    return ops.permute(x, (*axes[:-2], axes[-1], axes[-2]))


def check(device, function, arrays, without):
    """Compare a fused function with its operators one by one; its kernels are none of some operators."""
    fused, given = ep.fuse(function), [placed(device, one) for one in arrays]
    for _ in range(2):
        found, expected = fused(*given), function(*given)
        for one, wanted in zip(
            *([each] if not isinstance(each, tuple) else each for each in (found, expected)), strict=True
        ):
            np.testing.assert_array_equal(host(one), host(wanted))
    kinds = shape_of(fused.explain(*given))
    assert not [kind for kind in kinds if any(f"operator of {name}" in kind for name in without)]
    return kinds


SHAPES = [
    ((5, 3), (3, 7)),
    ((2, 5, 3), (2, 3, 7)),
    ((4, 1, 5, 3), (2, 3, 7)),
    ((2, 5, 3), (3, 7)),
    ((0, 3), (3, 7)),
    ((5, 0), (0, 7)),
    ((1, 3), (3, 1)),
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_a_product_that_is_written_with_exchanged_axes(device, rng, shapes):
    """Its bits are those of a product whose axes are exchanged afterwards."""
    x, w = (rng.standard_normal(shape, np.float32) for shape in shapes)
    check(device, lambda x, w: exchanged(mm(x, w)), (x, w), ["permute"])
    check(
        device,
        lambda x, w: exchanged(mm(exchanged(x), exchanged(w))),
        (x.swapaxes(-1, -2).copy(), w.swapaxes(-1, -2).copy()),
        ["permute"],
    )
    check(device, lambda x, w: exchanged(exchanged(mm(x, w))), (x, w), ["permute"])
    check(device, lambda x, w: ops.tanh(exchanged(mm(x, w))) + 1.0, (x, w), ["permute"])


def test_a_product_that_others_read_is_computed_once(device, rng):
    x, w = rng.standard_normal((5, 3), np.float32), rng.standard_normal((3, 7), np.float32)
    for function in (
        lambda x, w: (exchanged(mm(x, w)), mm(x, w)),
        lambda x, w: (exchanged(mm(x, w)), ops.sum(mm(x, w), 0)),
    ):
        kinds = check(device, function, (x, w), [])
        assert sum("matmul" in kind for kind in kinds) == 1
    z = x + 1j * x[::-1]
    check(device, lambda x, w: exchanged(mm(x, w)), (z, (w[:3] + 1j * w).astype(z.dtype)), [])
    check(device, lambda x, w: ops.permute(mm(x, w), (1, 0, 2)), (np.stack([x, x]), w), [])


def test_the_gradient_of_a_transposed_matrix(device, rng):
    x, w = rng.standard_normal((5, 3), np.float32), rng.standard_normal((7, 3), np.float32)
    gradient = ep.grad(lambda x, w: ops.sum(ops.tanh(x @ exchanged(w))), by=(0, 1))
    given = [placed(device, one) for one in (x, w)]
    assert "permute" not in gradient.explain(*given)
    slope = 1 - np.tanh(x.astype(np.float64) @ w.T) ** 2
    for found, wanted in zip(gradient(*given), (slope @ w, slope.T @ x), strict=True):
        np.testing.assert_allclose(host(found), wanted, rtol=1e-4, atol=1e-5)


def test_matrices_that_are_reshaped_or_repeated_before_a_product(device, rng):
    """Axes of batches are merged, divided and repeated; a reshape that something else reads stays."""
    q, k = rng.standard_normal((2, 3, 5, 4), np.float32), rng.standard_normal((2, 3, 7, 4), np.float32)
    for shape in ((6, 4, 7), (1, 6, 4, 7), (3, 2, 4, 7)):
        before = (*shape[:-2], 5, 4)
        check(
            device,
            lambda q, k, shape=shape, before=before: mm(q.reshape(before), exchanged(k).reshape(shape)),
            (q, k),
            ["permute"],
        )
    check(
        device,
        lambda q, k: mm(q.reshape((6, 5, 4)), exchanged(exchanged(k).reshape((6, 4, 7))).reshape((6, 4, 7))),
        (q, k),
        [],
    )
    both = lambda q, k: (mm(q.reshape((6, 5, 4)), one := exchanged(k).reshape((6, 4, 7))), one + 1.0)  # noqa: E731
    check(device, both, (q, k), [])
    check(device, lambda q, k: mm(q, ops.expand(k[:1], 2, 3, 7, 4).reshape((2, 3, 4, 7))), (q, k), [])
    check(
        device, lambda q, w: mm(q, ops.expand(w, 2, 3, 4, 7)), (q, rng.standard_normal((4, 7), np.float32)), ["expand"]
    )
    check(
        device,
        lambda q, w: mm(q, ops.expand(w, 2, 3, 4, 7)),
        (q, rng.standard_normal((2, 1, 4, 7), np.float32)),
        ["expand"],
    )
    check(
        device,
        lambda q, w: mm(q[:1], ops.expand(w, 2, 3, 4, 7)),
        (q, rng.standard_normal((1, 3, 4, 7), np.float32)),
        [],
    )
    check(device, lambda q, w: mm(q, ops.expand(w, 4, 7)), (q, rng.standard_normal((1, 7), np.float32)), [])


def test_elements_that_are_repeated_before_a_map(device, rng):
    x, row, column, one = (rng.standard_normal(shape, np.float32) for shape in ((4, 5), (5,), (4, 1), ()))
    arrays = x, row, column, one

    def repeated(x, row, column, one):
        return (
            x * ops.expand(row, 4, 5),
            ops.where(x > ops.expand(one, 4, 5), ops.expand(ops.mul(one, 2.0), 4, 5), ops.expand(column, 4, 5)),
            ops.expand(ops.expand(one, 1, 5), 4, 5) - x,
        )

    check(device, repeated, arrays, ["expand"])
    check(device, lambda x, row, column, one: ops.expand(row, 4, 5) * ops.expand(one, 4, 5), arrays, [])
    check(device, lambda x, row, column, one: (ops.expand(row, 4, 5), ops.expand(row, 4, 5) * x), arrays, [])
    mean = lambda x, *_: x - ops.expand(ops.mean(x, -1, keepdims=True), 4, 5)  # noqa: E731
    assert check(device, mean, arrays, ["expand"]) == ["row kernel of mean sub"]
    loss = ep.grad(lambda x: ops.mean(ops.tanh(x) * x))
    assert "expand" not in loss.explain(placed(device, x))


def test_maps_of_a_product_that_is_reshaped(device, rng):
    """They are computed with the product, unless an operand has no elements in the other shape."""
    x, w, rest = (rng.standard_normal(shape, np.float32) for shape in ((6, 5), (5, 8), (2, 3, 8)))
    row, mask, one = (rng.standard_normal(shape, np.float32) for shape in ((8,), (2, 1, 8), (1, 1, 1)))
    wide = (x.astype(np.float64) @ w + row).reshape(2, 3, 8)
    layer = lambda x, w, row, shape: ops.add(ops.matmul(x, w), row).reshape(shape)  # noqa: E731

    def joined(x, w, row, rest, mask, one):
        y = ops.tanh(layer(x, w, row, (2, 3, 8)))
        return [ops.add(ops.mul(ops.add(y, rest), row), one), ops.cast(y.reshape((1, 6, 8)), "float64")]

    def apart(x, w, row, rest, mask, one):
        y = layer(x, w, row, (2, 3, 8))
        z = layer(x, w, row, (4, 12))
        return [
            ops.mul(y, mask),
            ops.sub(y, ops.mean(y, -1, keepdims=True)),
            ops.mul(z, rest.reshape((4, 12))),
            ops.mul(z, z[:, :1]),
        ]

    given = [x, w, row, rest, mask, one]
    program = Repeated(device, joined, given)
    if device.type is DeviceType.kCPU:
        assert program.num_launches == 1
    expected = [(np.tanh(wide) + rest) * row + one, np.tanh(wide).reshape(1, 6, 8)]
    others, z = Repeated(device, apart, given), wide.reshape(4, 12)
    expected += [wide * mask, wide - wide.mean(-1, keepdims=True), z * rest.reshape(4, 12), z * z[:, :1]]
    for _ in range(3):
        for found, wanted in zip([*program(*given), *others(*given)], expected, strict=True):
            assert found.shape == wanted.shape
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert program.is_repeated()


def test_calls_that_change_nothing_record_nothing(device, rng):
    x = rng.standard_normal((4, 5), np.float32)

    def function(x):
        whole = ops.slice(ops.expand(ops.permute(x, (0, 1)), 4, 5), slice(0, 4))
        return [
            ops.exp(exchanged(exchanged(whole))),
            ops.exp(ops.permute(ops.permute(x.reshape((2, 2, 5)), (1, 2, 0)), (2, 0, 1))),
        ]

    program = Repeated(device, function, [x])
    assert program.num_launches <= 2
    total = Repeated(device, lambda x: [ops.sum(ops.cast(x, "int8")[:, :1], 1)], [x])  # of int64
    np.testing.assert_array_equal(total(x)[0], x[:, 0].astype(np.int8))


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min"])
def test_reductions_of_one_element_record_nothing(name, device, rng):
    x, reduce = rng.standard_normal((4, 5), np.float32), getattr(ops, name)
    whole = Repeated(device, lambda x: [ops.exp(reduce(x.reshape((4, 1, 5, 1)), (1, 3))), reduce(x, -1)], [x])
    assert whole.num_launches <= 2
    found, rest = whole(x)
    np.testing.assert_allclose(found, np.exp(x), rtol=1e-5)
    np.testing.assert_allclose(rest, reduce(x, -1), rtol=1e-5)


def late(x, y, w):
    early = ops.exp(x) * y - 1.0
    return ops.softmax(mm(x, w)) * early + early


def read_by_several(x, y, w):
    early = ops.exp(x) * y - 1.0
    return ops.softmax(mm(x, w)) * early, ops.softmax(mm(ops.tanh(mm(y, w)), w)) + early


def with_results(x, y, w):
    early = ops.exp(x)
    return early, ops.softmax(mm(x, w)) * (early - y)


def of_rows(x, y, w):
    early = ops.sum(x * y, -1, keepdims=True)
    return ops.softmax(mm(x, w)) * ops.tanh(early)


@pytest.mark.parametrize(("function", "kernels"), [(late, 1), (read_by_several, 4), (with_results, 2), (of_rows, 2)])
def test_maps_are_computed_by_the_one_kernel_that_reads_them(function, kernels, device, rng):
    """And not by an earlier one, which would write them; unless they are results, or several kernels read them."""
    x, y, w = (rng.standard_normal(shape, np.float32) for shape in ((6, 5), (6, 5), (5, 5)))
    kinds = check(device, function, (x, y, w), [])
    assert sum(kind.split()[0] in ("map", "row") for kind in kinds) <= kernels


def test_maps_of_wide_rows_of_chosen_rows_and_of_many_arrays(device, rng):
    wide, at = rng.standard_normal((6, 32), np.float32), np.array([3, 1, 5, 0, 0, 2])
    square = rng.standard_normal((32, 32), np.float32)
    check(device, lambda x, w: ops.softmax(mm(ops.tanh(x), w)) * (x - 1.0), (wide, square), [])
    both = lambda x, w, at: ops.softmax(mm(x, w)) + ops.gather(ops.tanh(x) * 2.0, at)  # noqa: E731
    check(device, both, (wide, square, at), [])
    many = [rng.standard_normal((6, 5), np.float32) for _ in range(30)]
    long = lambda *arrays: ops.softmax(mm(arrays[0], arrays[1][:5])) + sum(map(ops.exp, arrays[3:]), arrays[2])  # noqa: E731
    check(device, long, many, [])
