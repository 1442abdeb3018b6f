"""Every operator, with every attribute, type and version, against references that follow from its text alone."""

import pytest

from tests.onnx.operators import elementwise, functions, norms, products, reductions, served, windows
from tests.onnx.operators.check import case_of, check, draws

CASES = 8
"""The cases of a version and a type: `record.Draw` takes all values of each choice in turn."""


def every(records):
    """Return the decorator of a test of some records."""
    return pytest.mark.parametrize(("name", "since", "dtype"), [*served.cases(records)])


def check_cases(records, name, since, dtype, rng, device):
    """Check some cases of a version and a type of an operator."""
    draw = draws(records[name], since, dtype, rng)
    for _ in range(CASES):
        check(case_of(records[name], draw), device.type.tag)


@every(elementwise.RECORDS)
def test_elementwise(rng, device, name, since, dtype):
    check_cases(elementwise.RECORDS, name, since, dtype, rng, device)


@every(reductions.RECORDS)
def test_reductions(rng, device, name, since, dtype):
    check_cases(reductions.RECORDS, name, since, dtype, rng, device)


@every(norms.RECORDS)
def test_norms(rng, device, name, since, dtype):
    check_cases(norms.RECORDS, name, since, dtype, rng, device)


@every(windows.RECORDS)
def test_windows(rng, device, name, since, dtype):
    check_cases(windows.RECORDS, name, since, dtype, rng, device)


@every(products.RECORDS)
def test_products(rng, device, name, since, dtype):
    check_cases(products.RECORDS, name, since, dtype, rng, device)


@every(functions.RECORDS)
def test_functions(rng, device, name, since, dtype):
    check_cases(functions.RECORDS, name, since, dtype, rng, device)
