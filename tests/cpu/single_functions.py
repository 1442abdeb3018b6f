"""The elementary functions in float32 arithmetic, applied to arrays in the loops of row kernels."""

from functools import cache
from typing import Any

import numba
import numpy as np

from ep.cpu.compile.jit import interleaved
from ep.cpu.vector_math.lookup import has_register_tables
from ep.cpu.vector_math.sets.names import FLOAT32
from tests.cpu.outer import OUTER

WITHOUT_TABLES = " without tables"


def both_forms(cases: dict[str, Any]) -> dict[str, Any]:
    """Return the cases, and once more those whose functions differ on processors without register tables."""
    others = {f"{name}{WITHOUT_TABLES}": case for name, case in cases.items() if FLOAT32[name].tabled}
    return cases | others if has_register_tables() else cases


@cache
def loop(name: str) -> Any:
    """Return a compiled function (x, y): y[i] = function(x[i])."""
    forms = FLOAT32[name.removesuffix(WITHOUT_TABLES)]
    tabled = has_register_tables() and not name.endswith(WITHOUT_TABLES)
    function = forms.tabled if tabled and forms.tabled else forms.computed

    @interleaved
    def apply_to(x, y):
        for i in range(x.size):
            y[i] = function(x[i])

    def callable_from_python(x, y):
        apply_to(x, y)

    arrays = numba.float32[::1], numba.float32[::1]
    return numba.njit(numba.void(*arrays), **OUTER)(callable_from_python)


def apply(name: str, x: np.ndarray) -> np.ndarray:
    y = np.empty_like(x)
    loop(name)(x, y)
    return y


def bound(name: str) -> float:
    """Return the largest error that is allowed, in ulps."""
    return FLOAT32[name.removesuffix(WITHOUT_TABLES)].ulps


def nan_of_any_payload() -> np.ndarray:
    """Return NaNs of both signs, quiet and signalling."""
    bits = np.random.default_rng(8).integers(1, 2**23, 10_000) | 0x7F800000
    return np.concatenate([bits, bits | 0x80000000]).astype(np.uint32).view(np.float32)
