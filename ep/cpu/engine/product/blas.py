"""OpenBLAS, called by address: its functions, and their calls from compiled code.

OpenBLAS is set to use one thread: this package's threads call it, each for its own blocks. OpenBLAS's own threads would
compete for the same processors, and serve one caller at a time. Its interface to use other threads requires that parts
run at the same time, which a shared pool cannot guarantee.
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from llvmlite import ir

from ep.common.environment import set_meanwhile
from ep.common.native.emitted import emitted
from ep.cpu.compile.vectors import INT, NOTHING, WORD
from ep.include.data_type import DataType

_PACKAGE: Final = "scipy_openblas64"
_FUNCTIONS: Final = {
    DataType.kComplex64: "scipy_cblas_cgemm64_",
    DataType.kComplex128: "scipy_cblas_zgemm64_",
}
_NUM_THREADS: Final = "OPENBLAS_NUM_THREADS"

NOT_TRANSPOSED: Final = 111
CONJUGATE_TRANSPOSED: Final = 113
_ROW_MAJOR: Final = 101


def gemm_address(data_type: DataType) -> int:
    """Return the address of OpenBLAS's matrix product for a complex type."""
    address = ctypes.cast(getattr(_library(), _FUNCTIONS[data_type]), ctypes.c_void_p).value
    assert address is not None
    return address


@cache
def _library() -> ctypes.CDLL:
    """Load the library. Its package is not imported, since that would expose its symbols to all other libraries."""
    spec = find_spec(_PACKAGE)
    folders = [Path(folder) / "lib" for folder in (spec.submodule_search_locations or ())] if spec else []
    files = [file for folder in folders for file in folder.glob("libscipy_openblas64_.*") if file.suffix != ".a"]
    if not files:
        raise ImportError("products of matrices on the CPU need OpenBLAS; pip install scipy-openblas64")
    with set_meanwhile(_NUM_THREADS, "1"):  # OpenBLAS starts its threads when it is loaded
        return ctypes.CDLL(str(files[0]))


@emitted()
def gemm(
    builder: Any,
    address: Any,
    transpose_a: Any,
    transpose_b: Any,
    m: Any,
    n: Any,
    k: Any,
    alpha: Any,
    a: Any,
    lda: Any,
    b: Any,
    ldb: Any,
    beta: Any,
    c: Any,
    ldc: Any,
) -> None:
    """Call the product at `address` for row-major matrices; alpha and beta are the addresses of complex numbers."""
    of_c = ir.FunctionType(NOTHING, [INT] * 3 + [WORD] * 11)
    ways = INT(_ROW_MAJOR), *(builder.trunc(one, INT) for one in (transpose_a, transpose_b))
    builder.call(builder.inttoptr(address, of_c.as_pointer()), [*ways, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc])
