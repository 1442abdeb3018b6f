"""The elementary functions of processors without AVX-512, which have no tables in registers, at launches."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ep.common.functor.lookup import functor_maker
from ep.cpu.kernels.functors import is_single
from ep.cpu.kernels.math_library import elementary_functions_of
from ep.cpu.vector_math.lookup import has_register_tables
from ep.cpu.vector_math.sets.names import FLOAT32, FLOAT64
from ep.include.data_type import DataType
from ep.include.number_kind import Kind
from ep.testing.tolerances import VECTOR_MATH_ULPS
from tests.cpu.test_accuracy import NAMES

HERE = Path(__file__).parent


def has_another_form(op, data_type):
    """Return whether a function of the op uses register tables on processors that have them.

    If not, the other tests already cover the op.
    """
    forms = FLOAT32 if is_single(op, data_type) else FLOAT64
    called, itself = elementary_functions_of(functor_maker(op, Kind.FLOAT)), op.name[1:].lower()
    return any(each.tabled for name, each in forms.items() if name in called or name.replace("_", "") == itself)


TESTS = [
    *(f"{HERE / 'test_accuracy.py'}::test_{arithmetic}_is_within_its_bound" for arithmetic in ("float32", "float64")),
    *(
        f"{HERE / 'test_places.py'}::test_unary[{op.name}-{data_type.name}-{data_type.name}]"
        for op in VECTOR_MATH_ULPS
        for data_type in (DataType.kFloat, DataType.kDouble)
        if has_another_form(op, data_type)
    ),
]


@pytest.mark.ep_long
@pytest.mark.skipif(not has_register_tables(), reason="the other tests have run on such a processor")
def test_bounds_and_bits_hold_with_avx2_alone():
    """Run the tests in a separate process, because a process chooses the target of its kernels once."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--ep-every-case", *TESTS],
        env={**os.environ, "NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": ""},
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(TESTS) - 2 + 2 * len(NAMES)} passed" in done.stdout
