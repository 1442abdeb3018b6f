"""Slices, permutations and expansions that kernels read in place, in the memory of the original array."""

import numpy as np
import pytest

import ep
from ep.ops import copy_to_host as host
from tests.fuse.maps import draw
from tests.fuse.placing import placed


def shape_of(lines):
    """Return the kind of each line of an explanation."""
    return [line.split(": ", 1)[1].split(";")[0] for line in lines.splitlines() if line[0].isdigit()]


def test_one_kernel_reads_halves_of_rows(device, rng):
    (x,) = draw(rng, (5, 14))
    fused = ep.fuse(lambda x: ep.ops.silu(x[:, :7]) * x[:, 7:] + x[2:3, ::2])
    given = placed(device, x)
    expected = ep.ops.add(
        ep.ops.mul(ep.ops.silu(ep.ops.slice(given, None, (0, 7))), ep.ops.slice(given, None, (7, 14))),
        ep.ops.slice(given, (2, 3), (0, 14, 2)),
    )
    assert np.array_equal(host(fused(given)), host(expected))
    kinds = shape_of(fused.explain(given))
    assert sorted(kinds) == ["map kernel of silu mul add", *["view of slice"] * 3]


def test_one_kernel_reads_the_parts_of_a_split(device, rng):
    """They are not copied, unless one of them is a result or an operator reads it."""
    (x,) = draw(rng, (3, 14))
    given = placed(device, x)

    def gates(x, axis, sections):
        first, second, *rest = ep.ops.split(x, sections, axis)
        return ep.ops.tanh(first) * ep.ops.sigmoid(second) + (rest[0] if rest else 1.0)

    for axis, sections in ((1, 2), (1, [4, 8, 12]), (0, 3), (-1, [7])):
        fused = ep.fuse(gates)
        expected = gates(given, axis, sections)
        for _ in range(2):
            assert np.array_equal(host(fused(given, axis, sections)), host(expected))
        assert not [kind for kind in shape_of(fused.explain(given, axis, sections)) if kind.startswith("operator")]
    halves = ep.fuse(lambda x: ((y := ep.ops.split(ep.ops.tanh(x), 2, 1))[0] * y[1], y[1]))
    product, second = map(host, halves(given))
    first, wanted = np.hsplit(host(ep.ops.tanh(given)), 2)
    assert np.array_equal(second, wanted)
    assert np.array_equal(product, first * wanted)
    total = ep.fuse(lambda x: ep.ops.split(x, 2, 1)[1] @ ep.ops.split(x, 2, 1)[0].T + ep.ops.split(x, 2, 1)[1][:, :3])
    assert np.allclose(host(total(given)), x[:, 7:] @ x[:, :7].T + x[:, 7:10], rtol=1e-4, atol=1e-5)


def test_views_of_views_and_of_what_a_kernel_wrote(device, rng):
    x, b = draw(rng, (6, 4, 3), (4, 1, 1))

    def function(x, b):
        total = x + 1.0
        turned = ep.ops.permute(total[1:5], (1, 0, 2))
        return turned * ep.ops.expand(b, 4, 4, 3) - total[:4, :1]

    fused = ep.fuse(function)
    given = [placed(device, one) for one in (x, b)]
    total = x + np.float32(1)
    expected = total[1:5].transpose(1, 0, 2) * b - total[:4, :1]
    assert np.array_equal(host(fused(*given)), expected)
    assert "operator" not in fused.explain(*given)


def test_a_view_of_a_view_is_one_of_the_array(device, rng):
    """Integers, new axes, steps and expansions of an existing view: no copy is made in between."""
    x, b = draw(rng, (3, 5, 7, 4), (3, 2, 4))

    def function(x, b):
        turned = ep.ops.permute(x[1:, 2], (1, 0, 2))[1::2]
        repeated = ep.ops.expand(b[:1], 5, 2, 4)[1:4]
        return turned * repeated - b[:, None, 1] + x[0, :, 5][:3, None]

    fused, given = ep.fuse(function), [placed(device, one) for one in (x, b)]
    turned, repeated = x[1:, 2].transpose(1, 0, 2)[1::2], np.broadcast_to(b[:1], (5, 2, 4))[1:4]
    assert np.array_equal(host(fused(*given)), turned * repeated - b[:, None, 1] + x[0, :, 5][:3, None])
    kinds = shape_of(fused.explain(*given))
    assert kinds[-1].startswith("map kernel")
    assert len(kinds) == 5


def test_a_view_that_is_a_result_or_that_an_operator_reads_is_written(device, rng):
    (x,) = draw(rng, (6, 5))
    given = placed(device, x)
    part, product = ep.fuse(lambda x: (x[:, 1:], x[:5].T @ x[:5]))(given)
    assert np.array_equal(host(part), x[:, 1:])
    assert np.array_equal(host(product), host(ep.ops.matmul(placed(device, x[:5].T), placed(device, x[:5]))))
    explanation = ep.fuse(lambda x: (x[:, 1:], x[:5].T @ x[:5])).explain(given)
    assert not any(kind.startswith("view of slice") for kind in shape_of(explanation))


def test_rows_that_do_not_stay_rows_are_written(device, rng):
    (x,) = draw(rng, (6, 5))
    fused = ep.fuse(lambda x: x.T + 1.0)
    given = placed(device, x)
    assert np.array_equal(host(fused(given)), x.T + np.float32(1))
    assert "operator of permute" in shape_of(fused.explain(given))[0]


@pytest.mark.parametrize(
    "function", [lambda x: x[::1, ::1][:, :5] + x, lambda x: x * 2.0 + x[:1]], ids=["all", "first"]
)
def test_what_a_view_reads_may_be_written(device, rng, function):
    """A kernel that reads a view of an array does not write to the array before it has read the whole view."""
    (x,) = draw(rng, (6, 5))
    given, fused = placed(device, x), ep.fuse(function)
    expected = host(fused(given))
    assert fused(given, out=given) is given
    assert np.array_equal(host(given), expected)


def test_a_block_assigns_to_what_it_has_a_view_of(device, rng):
    (x,) = draw(rng, (7, 5))
    given = placed(device, x)
    with ep.lazy() as lazy:
        view = lazy.view(given)
        before = view[:1] * 1.0
        view[...] = view - view[:1]
        view[...] = view + before * view[2:3]
    first = x - x[:1]
    assert np.array_equal(host(given), first + x[:1] * first[2:3])


def test_empty_views(device):
    given = placed(device, np.zeros((4, 6), np.float32))
    assert ep.fuse(lambda x: x[4:] + 1.0)(given).shape == (0, 6)
    assert ep.fuse(lambda x: x[:, 6:] + x[:, :0])(given).shape == (4, 0)


def test_an_operator_reads_a_result_in_a_strided_array(device, rng):
    (x,) = draw(rng, (4, 6))
    given, out = placed(device, x), placed(device, np.zeros((4, 12), np.float32)[:, ::2])
    fused = ep.fuse(lambda x: (x * 2.0, ep.ops.concat([x * 2.0, x])))
    _, both = fused(given, out=(out, None))
    assert np.array_equal(host(out), x * 2)
    assert np.array_equal(host(both), np.concatenate([x * 2, x]))


def many_results(x):
    """Return results that could share memory: views of the argument and of each other, and constants."""
    y = x * 2.0
    numbers = ep.ops.arange(7, dtype="float32")
    constants = numbers, ep.ops.reshape(numbers, (1, 7)), ep.ops.full((), 3.0, dtype="float32")
    return x.reshape(-1), x[None], y, y.reshape(-1), (y + 1.0)[None], (y + 1.0).reshape(-1), *constants


def test_what_is_written_to_a_result_changes_nothing_else(device, rng):
    (x,) = draw(rng, (3, 5))
    y, numbers = x * 2, np.arange(7, dtype=np.float32)
    expected = x.ravel(), x[None], y, y.ravel(), (y + 1)[None], (y + 1).ravel(), numbers, numbers[None], np.float32(3)
    given, fused = placed(device, x), ep.fuse(many_results)
    for _ in range(2):
        results = fused(given)
        for k, result in enumerate(results):
            assert np.array_equal(host(result), expected[k])
            ep.ops.sub(result, result, out=result)
            assert np.array_equal(host(given), x)
    out = placed(device, np.ones_like(x).ravel())
    assert ep.fuse(lambda x: x.reshape(-1))(given, out=out) is out
    assert np.array_equal(host(out), x.ravel())
    assert ep.fuse(lambda x: x)(given) is given


def test_what_beside_a_loss_is_written_changes_no_argument(device, rng):
    (x,) = draw(rng, (3, 5))
    given = placed(device, x)
    slopes = ep.value_and_grad(lambda x: (ep.ops.sum(x * x), x.reshape(-1)), has_aux=True)
    (_, flat), _ = slopes(given)
    ep.ops.sub(flat, flat, out=flat)
    assert np.array_equal(host(given), x)
