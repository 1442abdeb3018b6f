"""Every operator, with every attribute, type and version, against references that follow from its text alone."""

import pytest

from tests.onnx.operators import served
from tests.onnx.operators.check import case_of, check, draws
from tests.onnx.operators.records import FAMILIES, RECORDS

CASES = 8
"""The cases of a version and a type: `record.Draw` takes all values of each choice in turn."""


def every(family):
    """Return the decorator of a test of the records of a family, for each version and each type."""
    return pytest.mark.parametrize(("name", "since", "dtype"), [*served.cases(FAMILIES[family])])


def check_cases(name, since, dtype, rng, device):
    """Check some cases of a version and a type of an operator."""
    draw = draws(RECORDS[name], since, dtype, rng)
    for _ in range(CASES):
        check(case_of(RECORDS[name], draw), device.type.tag)


ELSEWHERE = {"If", "Loop", "Scan", "Constant"}
"""Operators of graphs, and one without inputs: test_branches.py, test_loops.py and test_nodes.py have them."""
REFUSED = {"Bernoulli", "DynamicQuantizeLinear", "SequenceMap"}
"""Operators that ONNX's functions compute by operators that are not served."""


def test_every_operator_has_a_record():
    assert RECORDS.keys() | ELSEWHERE | REFUSED == {*served.names()}
    assert RECORDS.keys().isdisjoint(ELSEWHERE | REFUSED)


@every("attention")
def test_attention(rng, device, name, since, dtype):
    check_cases(name, since, dtype, rng, device)


@every("elementwise")
def test_elementwise(rng, device, name, since, dtype):
    check_cases(name, since, dtype, rng, device)


@every("functions")
def test_functions(rng, device, name, since, dtype):
    check_cases(name, since, dtype, rng, device)


@every("indices")
def test_indices(rng, device, name, since, dtype):
    check_cases(name, since, dtype, rng, device)


@every("moves")
def test_moves(rng, device, name, since, dtype):
    check_cases(name, since, dtype, rng, device)


@every("norms")
def test_norms(rng, device, name, since, dtype):
    check_cases(name, since, dtype, rng, device)


@every("products")
def test_products(rng, device, name, since, dtype):
    check_cases(name, since, dtype, rng, device)


@every("recurrent")
def test_recurrent(rng, device, name, since, dtype):
    check_cases(name, since, dtype, rng, device)


@every("reductions")
def test_reductions(rng, device, name, since, dtype):
    check_cases(name, since, dtype, rng, device)


@every("shapes")
def test_shapes(rng, device, name, since, dtype):
    check_cases(name, since, dtype, rng, device)


@every("windows")
def test_windows(rng, device, name, since, dtype):
    check_cases(name, since, dtype, rng, device)


@every("resize")
def test_resize(rng, device, name, since, dtype):
    check_cases(name, since, dtype, rng, device)
