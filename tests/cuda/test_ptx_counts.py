"""The counts of `tools.ptx_counts`, if kernels run from their PTX."""

import math

import numpy as np
import pytest

from benchmarks.cases.sets import SETS
from tools.ptx_counts import counts


@pytest.mark.parametrize(("name", "case_name"), [("unary", "relu"), ("binary", "add, same shape")])
def test_a_map_moves_no_more_than_it_must(cuda, name, case_name):
    if not cuda.driver.loads_ptx:
        pytest.skip("kernels do not run from their PTX")
    (case,) = [case for case in SETS[name](2**12, np.dtype(np.float32)) if case.name == case_name]
    (count,) = counts(case, cuda.driver)
    elements = math.prod(case.out_dims)
    assert count.kernel.startswith("map.")
    assert count.moved == case.bytes_moved
    assert elements / 4 <= count.of("st") < elements / 2
    assert count.of("bar", "shfl") == 0
    assert count.of() > count.of("ld") + count.of("st")
