"""The scalar function decides which products and sums are fused; no instruction leaves this to LLVM."""

import json
import re

import numpy as np
import pytest

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


def test_no_kernel_leaves_contraction_to_llvm(tmp_path):
    code = json.loads(run(CODE, EP_CACHE_DIR=str(tmp_path)))
    flags = "contract|fast|reassoc|afn|arcp"
    assert re.search(r"\bf(add|mul) ", code)
    assert not re.search(rf"\bf(add|sub|mul|div) ({flags})\b|call ({flags})\b", code)


@pytest.mark.parametrize(
    ("function", "fused"),
    [
        (lambda a, b, c: a * b + c, 1),
        (lambda a, b, c: c + a * b, 1),
        (lambda a, b, c: a * b - c, 1),
        (lambda a, b, c: c - a * b, 1),
        (lambda a, b, c: a - a * b, 1),
        (lambda a, b, c: a * b - a, 1),
        (lambda a, b, c: a * b + b * c, 1),
        (lambda a, b, c: (c, a * b + c)[1], 1),
        (lambda a, b, c: (a * b + c) * b + a, 2),
        (lambda a, b, c: -(a * b), 0),
        (lambda a, b, c: (a + b) * c, 0),
    ],
)
def test_what_is_fused(rng, function, fused):
    """The result is that of Python, except that the fused products are not rounded."""
    from numba import float64, njit

    options = {name: value for name, value in OUTER.items() if name != "cache"}
    compiled = njit(float64(float64, float64, float64), **options)(function)
    code = compiled.inspect_llvm(compiled.signatures[0])
    body = code[code.index("define") :]
    assert len(re.findall(r"call double @llvm\.fma", body.split("\n}\n")[0])) == fused
    for a, b, c in rng.standard_normal((50, 3)):
        assert np.isclose(compiled(a, b, c), function(a, b, c), rtol=1e-13, atol=1e-15)
