"""Gradients of tensors on a mesh: the rules compute with operators, which take and give such tensors."""

import numpy as np

import ep.ops
from ep.mesh import Placement, from_whole
from ep.mesh.world import world


def check_a_tape_over_ranks():
    """One step of a classifier whose batch is split: the gradient of its weights is a sum over the ranks."""
    placement, rng = Placement(world().size), np.random.default_rng(5)
    x, weights, labels = rng.normal(size=(10, 6)), rng.normal(size=(6, 3)), rng.integers(0, 3, (10, 1))

    def gradient(x, weights, labels):
        tape = ep.ops.Tape()
        w = tape.watch(weights)
        scores = tape.log_softmax(tape.matmul(x, w))
        loss = tape.negative(tape.mean(tape.gather(scores, labels, axis=1, batch_dims=1)))
        return tape.gradients(loss, [w])[0]

    split = (
        from_whole(x, placement, "S(0)"),
        from_whole(weights, placement, "B"),
        from_whole(labels, placement, "S(0)"),
    )
    assert np.allclose(gradient(*split).numpy(), gradient(x, weights, labels), rtol=1e-12)


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
