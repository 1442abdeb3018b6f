"""The table of ops: every op has a row, and rows that refer to each other are consistent."""

import numpy as np
import pytest

from ep import BinaryOp, UnaryOp
from ep.common.functor import table
from ep.common.functor.lookup import functor_maker
from ep.include import DataType
from ep.include.number_kind import Kind, number_kind
from ep.include.primitive.op_table import OPS
from ep.testing.references import binary, slopes, unary

BACKWARD = [op for op in BinaryOp if "Backward" in op.name]
WITH_BACKWARD = [op for op in UnaryOp if set(OPS[op].gradient) & set(BACKWARD)]
POINTS = np.array([0.37, 0.83, -0.61, 1.9, -2.3])
STEP = 1e-5


def test_every_op_has_one_row():
    assert list(OPS) == [*UnaryOp, *BinaryOp]
    assert all(row.op is op for op, row in OPS.items())
    assert all(len(row.operands) == (1 if isinstance(op, UnaryOp) else 2) for op, row in OPS.items())


def is_missing(find, *arguments):
    try:
        find(*arguments)
    except LookupError:
        return True
    return False


def without(find):
    """Return the names of ops, and of data types that they take, that `find` finds nothing for."""
    cases = [(op, data_type) for op, row in OPS.items() for data_type in row.takes]
    return [f"{op.name} of {data_type.name}" for op, data_type in cases if is_missing(find, op, data_type)]


def functor(op, data_type):
    return functor_maker(op, number_kind(data_type))


def reference(op, data_type):
    exact = unary.exact if isinstance(op, UnaryOp) else binary.exact
    return exact(op, *[np.ones(1, data_type.dtype)] * len(OPS[op].operands), *values_of(op))


def values_of(op):
    """Return numbers for the attributes of an op."""
    return [0.5 if attribute.default is None else attribute.default for attribute in OPS[op].attributes]


# each is one case, so that every run looks at all ops


def test_every_op_has_a_functor_for_each_type_that_it_takes():
    assert not without(functor)


def test_every_op_has_a_reference_for_each_type_that_it_takes():
    assert not without(reference)


def test_every_backward_op_has_a_reference_of_its_slope():
    assert not [op.name for op in BACKWARD if is_missing(slopes.slope, op, 0.5, *values_of(op))]


def test_a_functor_that_lacks_is_named(monkeypatch):
    monkeypatch.delitem(table._TABLE, (UnaryOp.kErf, Kind.FLOAT))
    assert without(functor) == [f"kErf of {t.name}" for t in OPS[UnaryOp.kErf].takes]
    with pytest.raises(LookupError, match=r"^kErf has no functor for float numbers; ep/common/functor declares none$"):
        functor_maker(UnaryOp.kErf, Kind.FLOAT)


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
    attributes = values_of(op)
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
