"""Gradients of tensors on a mesh: their rules use operators, which accept and return such tensors."""

import numpy as np
import pytest

import ep.ops
from ep.mesh import Placement, from_whole, under
from ep.mesh.world import world


def loss_of(weights, x, labels):
    scores = ep.ops.log_softmax(x @ weights)
    return -ep.ops.mean(ep.ops.gather(scores, labels, axis=1, batch_dims=1))


def check_gradients_of_a_function_over_ranks():
    """Check one step of a classifier whose batch is split: the gradient of its weights is a sum over the ranks."""
    placement, rng = Placement(world().size), np.random.default_rng(5)
    x, weights, labels = rng.normal(size=(10, 6)), rng.normal(size=(6, 3)), rng.integers(0, 3, (10, 1))
    split = (
        from_whole(weights, placement, "B"),
        from_whole(x, placement, "S(0)"),
        from_whole(labels, placement, "S(0)"),
    )
    function = ep.value_and_grad(loss_of)
    for one, whole in zip(function(*split), function(weights, x, labels), strict=True):
        assert np.allclose(one.numpy(), whole, rtol=1e-12)


def check_a_fused_function_over_ranks():
    """The operators of a fused function on a mesh run one by one, and it has no `out`."""
    placement, rng = Placement(world().size), np.random.default_rng(7)
    x, y = rng.normal(size=(7, 5)), rng.normal(size=5)
    fused = ep.fuse(lambda x, y, number: ((x - y) * number).sum(0, keepdims=True).reshape(5) + y)
    split = from_whole(x, placement, "S(0)"), from_whole(y, placement, "B")
    for number in (2.0, 3.0):
        assert np.allclose(fused(*split, number).numpy(), ((x - y) * number).sum(0) + y, rtol=1e-12)
    said = fused.explain(*split, 2.0)
    assert "map kernel" not in said
    assert f"{split[0].operands.place} has no Expression: operators are computed one by one" in said
    with pytest.raises(TypeError, match=r"out is given; operators on .* make tensors of their own"):
        fused(*split, 2.0, out=split[1])
    with pytest.raises(TypeError, match=r"array is on .*, where nothing is written in place"), ep.lazy() as lazy:
        lazy.view(split[0])


def check_vjp_over_ranks():
    placement, rng = Placement(world().size), np.random.default_rng(6)
    x, y, dy = rng.normal(size=(7, 5)), rng.normal(size=5), rng.normal(size=(7, 5))
    inputs = from_whole(x, placement, "S(0)"), from_whole(y, placement, "B")
    found = ep.ops.vjp("mul", inputs, {}, None, from_whole(dy, placement, "S(1)"))
    for one, whole in zip(found, ep.ops.vjp("mul", (x, y), {}, None, dy), strict=True):
        assert np.allclose(one.numpy(), whole, rtol=1e-12)
    a, b = rng.normal(size=(7, 5)), rng.normal(size=5)
    both = from_whole(a, placement, "S(1)"), from_whole(b, placement, "S(0)")
    found = ep.ops.vjp("matmul", both, {}, None, from_whole(dy[:, 0], placement, "B"))
    for one, whole in zip(found, ep.ops.vjp("matmul", (a, b), {}, None, dy[:, 0]), strict=True):
        assert np.allclose(one.numpy(), whole, rtol=1e-12)
    tokens = np.array([3, 0, 3, 6])
    rows = ep.ops.gather_grad(from_whole(dy[:4], placement, "S(1)"), from_whole(tokens, placement, "B"), (7, 5))
    assert np.allclose(rows.numpy(), ep.ops.gather_grad(dy[:4], tokens, (7, 5)))


def check_gradients_of_scatters_over_ranks():
    placement, rng = Placement(world().size), np.random.default_rng(9)
    x, updates, dy = (rng.normal(size=shape) for shape in ((7, 5), (4, 5), (7, 5)))
    indices = np.array([3, 0, 3, 6])
    for reduction in ("none", "add", "mul", "max"):
        given = {"axis": 0, "reduction": reduction}
        wanted = ep.ops.vjp("scatter_rows", (x, indices, updates), given, None, dy)
        for split in (("S(0)", "B", "B"), ("S(1)", "B", "S(1)"), ("B", "S(0)", "S(0)")):
            placed = [from_whole(*each) for each in zip((x, indices, updates), [placement] * 3, split, strict=True)]
            found = ep.ops.vjp("scatter_rows", placed, given, None, from_whole(dy, placement, "B"))
            for k in (0, 2):
                assert np.allclose(found[k].numpy(), wanted[k], rtol=1e-12), (reduction, split)


def check_convolutions_over_ranks():
    """Check convolutions split by the batch, channels, filters, groups, or places of a spatial axis, and their
    gradients.
    """
    placement, rng = Placement(world().size), np.random.default_rng(8)
    for groups, channels in ((1, 6), (6, 1)):
        x, w, bias = rng.normal(size=(5, 6, 9)), rng.normal(size=(12, channels, 3)), rng.normal(size=12)
        given = {"strides": 2, "pads": (1, 2), "groups": groups}
        whole = ep.ops.conv(x, w, bias, **given)
        dy = rng.normal(size=whole.shape)
        for of_x, of_w in (("S(0)", "B"), ("S(1)", "S(1)"), ("B", "S(0)"), ("S(1)", "S(0)"), ("S(2)", "B")):
            placed = from_whole(x, placement, of_x), from_whole(w, placement, of_w)
            of_bias = "S(0)" if of_w == "S(0)" else "B"
            found = ep.ops.conv(*placed, from_whole(bias, placement, of_bias), **given)
            assert np.allclose(found.numpy(), whole, rtol=1e-12)
            gradients = ep.ops.vjp("conv", placed, given, None, from_whole(dy, placement, "S(2)"))
            for one, other in zip(gradients, ep.ops.vjp("conv", (x, w), given, None, dy), strict=True):
                assert np.allclose(one.numpy(), other, rtol=1e-12)
        for signature in ("B, B -> S(2)", "B, S(2) -> P", "P, B -> P"):
            with under(signature):
                y = ep.ops.conv(*(from_whole(one, placement, "B") for one in (x, w)), **given)
            assert np.allclose(y.numpy(), ep.ops.conv(x, w, **given), rtol=1e-12)


def check_pools_over_ranks():
    """Check pools split by the batch, channels or places, and their gradients."""
    placement, rng = Placement(world().size), np.random.default_rng(9)
    x, given = rng.normal(size=(5, 6, 9)), {"kernel": 3, "strides": 2, "pads": (1, 2)}
    for name in ("max_pool", "average_pool", "unfold"):
        whole = getattr(ep.ops, name)(x, **given)
        dy = rng.normal(size=whole.shape)
        (expected,) = ep.ops.vjp(name, (x,), given, None, dy)
        for place in ("S(0)", "S(1)", "S(2)", "B"):
            placed = from_whole(x, placement, place)
            assert np.allclose(getattr(ep.ops, name)(placed, **given).numpy(), whole, rtol=1e-12)
            (found,) = ep.ops.vjp(name, (placed,), given, None, from_whole(dy, placement, "S(2)"))
            assert np.allclose(found.numpy(), expected, rtol=1e-12)


def check_indices_of_pools_and_resizes_over_ranks():
    """Check pools with indices, adaptive pools and resizes of split images."""
    placement, rng = Placement(world().size), np.random.default_rng(10)
    x, dy = rng.normal(size=(5, 6, 8)), rng.normal(size=(5, 6, 4))
    for place in ("S(0)", "S(1)", "S(2)", "B"):
        placed, by = from_whole(x, placement, place), from_whole(dy, placement, place)
        largest, indices = ep.ops.max_pool_with_indices(placed, 2, 2)
        expected = ep.ops.max_pool_with_indices(x, 2, 2)
        assert np.array_equal(indices.numpy(), expected[1])
        assert np.array_equal(ep.ops.max_unpool(largest, indices, 8).numpy(), ep.ops.max_unpool(*expected, 8))
        for name, given, whole, rest in (
            ("adaptive_average_pool", placed, x, (3,)),
            ("adaptive_average_pool_grad", by, dy, (x.shape,)),
            ("average_pool_grad", by, dy, (x.shape, 2, 2)),
            ("resize", placed, x, (12, "linear")),
            ("resize_grad", by, dy, (x.shape, "linear")),
        ):
            found = getattr(ep.ops, name)(given, *rest).numpy()
            assert np.allclose(found, getattr(ep.ops, name)(whole, *rest), rtol=1e-12)
