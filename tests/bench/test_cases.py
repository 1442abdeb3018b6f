"""Every case of the benchmark has NumPy's results, for every dtype of its set."""

import itertools
import math
from enum import Enum

import numpy as np
import pytest

from benchmarks.cases.common import DTYPES, FLOATS, shape
from benchmarks.cases.sets import SETS
from ep.bench.trial import set_up
from ep.cli.names import factory_of
from ep.include.primitive import (
    ArgSort,
    BatchUnsortedSegmentSum,
    BlasTransposeType,
    CopyNd,
    Permute,
    Reduce,
    UnsortedSegmentSum,
    registered,
)
from ep.testing.keys import needs_one_of

SIZE = 2**10 + 3
SUMS = (Reduce, ArgSort, UnsortedSegmentSum, BatchUnsortedSegmentSum)  # either operand may be the larger one
COMMON = [dtype for dtype in DTYPES if dtype.name in ("float32", "float64", "int32")]


def cases(size, dtypes=DTYPES, sets=SETS):
    return [(name, dtype, case) for name in sets for dtype in dtypes for case in SETS[name](size, dtype)]


def ids(cases):
    return [f"{name}-{dtype}-{case.name.replace(' ', '_')}" for name, dtype, case in cases]


FULL = cases(2**12, COMMON)
# the other dtypes differ in the kernels, not in the shapes
REST = [entry for entry in cases(SIZE, [dtype for dtype in DTYPES if dtype not in COMMON]) if entry[2].core]


EACH = [pytest.param(*entry, marks=needs_one_of(factory_of(entry[2].primitive))) for entry in FULL + REST]


@pytest.mark.parametrize(("name", "dtype", "case"), EACH, ids=ids(FULL + REST))
def test_result(device, name, dtype, case):
    trial = set_up(case, device.device, factory_of(case.primitive))
    assert trial.is_right


@pytest.mark.parametrize("name", SETS)
def test_inputs(name):
    for size, dtype in itertools.product([1, 3, 64, SIZE, 2**13], DTYPES):
        check_inputs(name, size, dtype)


def check_inputs(name, size, dtype):
    made = list(SETS[name](size, dtype))
    assert len({case.name for case in made}) == len(made)
    assert made or name == "transformer" or (name in ("matmul", "softmax") and dtype.kind == "i")
    keys = {(entry.interface, entry.op, tuple(t.dtype for t in entry.dtypes)) for entry in registered()}
    for case in made:
        inputs = case.make(np.random.default_rng(1))
        assert dtype in (inputs[0].dtype if inputs else None, case.out_type)
        elements = math.prod(case.out_dims)
        if case.primitive in SUMS:
            elements = max(elements, inputs[0].size)
        assert size / 4 <= elements <= 2 * size
        assert all(array.flags.c_contiguous for array in inputs)
        op = next(
            (part for part in case.key if isinstance(part, Enum) and not isinstance(part, BlasTransposeType)), None
        )
        dtypes = tuple(part for part in case.key if isinstance(part, np.dtype))
        if case.primitive in (Permute, CopyNd):  # Launch takes the data type
            dtypes = (dtype,)
        assert (case.primitive, op, dtypes) in keys


def test_transcendental_cases_are_floating():
    for _, dtype, case in cases(64):
        assert dtype in FLOATS or case.group != "transcendental"


@pytest.mark.parametrize("num_dims", [1, 2, 3, 4])
def test_shape(num_dims):
    for size in (1, 2, 64, 1000, 2**26):
        dims = shape(size, num_dims)
        assert len(dims) == num_dims
        assert size / 2 < math.prod(dims) <= size
        assert list(dims) == sorted(dims)
