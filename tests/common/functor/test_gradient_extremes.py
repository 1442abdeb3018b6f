"""Gradients at the ends of the range: zeros, the smallest and the largest dy, times slopes of any size.

The functors are evaluated in the arithmetic of CUDA: float32 stays float32. `tests/primitive/test_gradients.py` does
the same with launches.
"""

import numpy as np
import pytest

from ep import BinaryOp
from ep.testing import tolerances
from tests.common.functor.test_binary import BACKWARD, POWER_GRADS, attribute_sets, evaluate
from tests.extremes import dys, worst_of, xs


@pytest.mark.parametrize("scalar_type", [np.float32, np.float64])
@pytest.mark.parametrize("op", [*POWER_GRADS, *BACKWARD], ids=lambda op: op.name)
def test_extremes(op, scalar_type):
    bound = tolerances.binary_ulps(op, scalar_type, tolerances.Library.HOST)
    for attributes in attribute_sets(op):
        if op is BinaryOp.kScalarExpPowerGrad and not 0 < attributes[0] < np.inf:
            continue
        dy, x = dys(scalar_type), xs(scalar_type, op)

        def launch(dy, x, attributes=attributes):
            return evaluate(op, *((x, dy) if op in POWER_GRADS else (dy, x)), attributes)

        error, what = worst_of(op, launch, dy, x, attributes)
        assert error <= bound, f"{what}, {bound} allowed"
