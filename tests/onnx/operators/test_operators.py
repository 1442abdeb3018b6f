"""Every operator, with every attribute, version, and type, against references that follow from its text alone.

All types are those of the newest version; the older ones have two types, others with each commit.
"""

import pytest

from tests.onnx.operators import served
from tests.onnx.operators.check import case_of, check, draws
from tests.onnx.operators.records import RECORDS
from tools.commit import commit

CASES = 8
"""The cases of a version and a type: `record.Draw` takes all values of each choice in turn."""


ELSEWHERE = {"If", "Loop", "Scan", "Constant"}
"""Operators of graphs, and one without inputs: test_branches.py, test_loops.py and test_nodes.py have them."""
REFUSED = {"Bernoulli", "SequenceMap"}
"""Operators that ONNX's functions compute by operators that are not served."""


def test_every_operator_has_a_record():
    assert RECORDS.keys() | ELSEWHERE | REFUSED == {*served.names()}
    assert RECORDS.keys().isdisjoint(ELSEWHERE | REFUSED)


@pytest.mark.parametrize(("name", "since", "dtype"), [*served.some_cases(RECORDS, commit())])
def test_versions_and_types(rng, device, name, since, dtype):
    draw = draws(RECORDS[name], since, dtype, rng)
    for _ in range(CASES):
        check(case_of(RECORDS[name], draw), device.type.tag)
