"""The table of ops: every op has a record, and records that refer to each other are consistent."""

import numpy as np
import pytest

from ep import BinaryOp, UnaryOp
from ep.include import DataType
from ep.include.primitive.op_table import OPS
from ep.testing.references import binary, unary

BACKWARD = [op for op in BinaryOp if "Backward" in op.name]
WITH_BACKWARD = [op for op in UnaryOp if set(OPS[op].gradient) & set(BACKWARD)]
POINTS = np.array([0.37, 0.83, -0.61, 1.9, -2.3])
STEP = 1e-5


def test_every_op_has_one_record():
    assert list(OPS) == [*UnaryOp, *BinaryOp]
    assert all(len(row.operands) == (1 if isinstance(op, UnaryOp) else 2) for op, row in OPS.items())


def test_result_types():
    for op, row in OPS.items():
        natural = [row.result_type(source) for source in row.takes]
        assert all(result in row.result_types(source) for source, result in zip(row.takes, natural, strict=True)) or (
            op in (UnaryOp.kRealGrad, UnaryOp.kImagGrad)  # no complex type has 16-bit parts
        )
    assert OPS[UnaryOp.kReal].result_type(DataType.kComplex64) is DataType.kFloat
    assert OPS[UnaryOp.kRealGrad].result_type(DataType.kDouble) is DataType.kComplex128


def test_every_backward_op_is_the_gradient_of_one_op():
    assert sorted(op.value for row in OPS.values() for op in row.gradient if op in BACKWARD) == sorted(
        op.value for op in BACKWARD
    )
    for op in WITH_BACKWARD:
        for gradient in OPS[op].gradient:
            assert gradient.name.casefold().startswith(f"{op.name}Backward".casefold())
            assert OPS[gradient].operands == ("dy", gradient.name[-1].lower())


@pytest.mark.parametrize("op", WITH_BACKWARD, ids=lambda op: op.name)
def test_a_gradient_is_the_derivative(op):
    """Compare gradients with central differences of the references, which do not use the table."""
    attributes = [0.5 if a.default is None else a.default for a in OPS[op].attributes]
    low, high = POINTS - STEP, POINTS + STEP
    slope = (unary.exact(op, high, *attributes) - unary.exact(op, low, *attributes)) / (high - low)
    defined = np.isfinite(slope)
    assert defined.any()
    y = unary.exact(op, POINTS, *attributes).astype(np.float64)
    for gradient in OPS[op].gradient:
        source = POINTS if OPS[gradient].operands[1] == "x" else y
        given = attributes[: len(OPS[gradient].attributes)]
        found = binary.exact(gradient, np.full(POINTS.shape, 3.0), source, *given)
        np.testing.assert_allclose(found[defined].astype(float), 3 * slope[defined].astype(float), 1e-6, 1e-9)
