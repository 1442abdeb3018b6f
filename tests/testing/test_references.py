"""Two references of gradients agree where the formula of one of them may cancel."""

import numpy as np
import pytest

from ep import BinaryOp
from ep.testing.references import binary
from ep.testing.references.slopes import gradients

GATES = [getattr(BinaryOp, f"k{name}BackwardWithDyX") for name in ("Gelu", "FastGelu", "QuickGelu", "Silu", "Mish")]


@pytest.mark.parametrize("op", GATES, ids=lambda op: op.name)
def test_gradients_of_gates_on_the_left(op):
    """The gradients are tiny there, and need a small relative error."""
    x, dy = np.linspace(-12.0, -3.0, 91), np.full(91, -1.5)
    (want,) = gradients(op, dy[:1], x, ())
    got = binary.exact(op, dy, x)
    assert (abs(got - want) <= abs(want) * np.longdouble(1e-14)).all()
