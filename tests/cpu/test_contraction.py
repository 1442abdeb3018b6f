"""Only what is written as `fma` is fused: no instruction leaves this to LLVM."""

import json
import re

import pytest
from numba import float64, njit

from tests.cpu.outer import OUTER
from tests.subprocesses import run

CODE = """
import json
from ep import BinaryOp
from ep.common.native.machine_code import LIBRARIES
from ep.cpu.kernels.functors import op_kernel
from ep.include import DataType as T

op_kernel(BinaryOp.kGeluBackwardWithDyX, T.kDouble, T.kDouble)
print(json.dumps(LIBRARIES[-1].get_llvm_str()))
"""


OPTIONS = {name: value for name, value in OUTER.items() if name != "cache"}


def test_no_kernel_leaves_contraction_to_llvm(tmp_path):
    code = json.loads(run(CODE, EP_CACHE_DIR=str(tmp_path)))
    flags = "contract|fast|reassoc|afn|arcp"
    assert re.search(r"\bf(add|mul) ", code)
    assert not re.search(rf"\bf(add|sub|mul|div) ({flags})\b|call ({flags})\b", code)


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b, c: a * b + c,
        lambda a, b, c: c - a * b,
        lambda a, b, c: a * b - a,
        lambda a, b, c: a * b + b * c,
        lambda a, b, c: (a * b + c) * b + a,
    ],
)
def test_products_are_rounded_before_they_are_added(rng, function):
    compiled = njit(float64(float64, float64, float64), **OPTIONS)(function)
    for a, b, c in rng.standard_normal((50, 3)).tolist():
        assert compiled(a, b, c) == function(a, b, c)
