"""Blocks of complex numbers, multiplied by OpenBLAS: its functions, which compiled code calls by their addresses.

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

from ep.common.environment import set_meanwhile
from ep.common.native.fields import Int64
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import release, storer
from ep.cpu.engine.product.mapped import map_block
from ep.cpu.engine.product.memory import allocate_for
from ep.cpu.engine.product.state import ProductBlock, ProductLaunch
from ep.cpu.engine.product.walk import offsets
from ep.cpu.threads.parallel import call_task
from ep.include.data_type import DataType

_PACKAGE: Final = "scipy_openblas64"
_FUNCTIONS: Final = {
    DataType.kComplex64: "scipy_cblas_cgemm64_",
    DataType.kComplex128: "scipy_cblas_zgemm64_",
}
_NUM_THREADS: Final = "OPENBLAS_NUM_THREADS"

_NOT_TRANSPOSED: Final = 111
_CONJUGATE_TRANSPOSED: Final = 113
_ROW_MAJOR: Final = 101
_NUMBER_WORDS: Final = 2  # words of the largest type


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


@cache
def blas_multiplier(data_type: DataType) -> Any:
    """Return a function (launch, block, a, b, c) that multiplies a block of complex numbers by calling the BLAS."""
    store, size = storer(data_type), data_type.itemsize

    @jit
    def multiply(launch: ProductLaunch, block: ProductBlock, a: int, b: int, c: int) -> None:
        state, words = launch.state, launch.product
        m, n, k = words.m, words.n, words.k
        transpose_a, transpose_b = state.transpose_a, state.transpose_b
        first, partial = block.first, block.partial
        first_row, first_column = block.first_row, block.first_column
        a += (first_row + first * m if transpose_a else first_row * k + first) * size
        b += (first_column * k + first if transpose_b else first_column + first * n) * size
        one, zero = Int64.array_on_stack(_NUMBER_WORDS), Int64.array_on_stack(_NUMBER_WORDS)
        store(one, 0, 1)
        store(zero, 0, 0)
        alpha, beta = Int64.at(launch.alpha), Int64.at(launch.beta)
        c_step, rows, columns = n, block.rows, block.columns
        maps, memory = partial == 0 and launch.map != 0, 0
        if partial != 0:
            c, alpha, beta = partial, one, zero
        elif maps and launch.apart != 0:
            c = memory = allocate_for(launch, rows * columns * size)
            c_step = columns
            if memory == 0:
                return
        for term in range(block.first_term, block.last_term):
            a_offset, b_offset = offsets(words.terms, term)
            call_task(
                state.gemm,
                _ROW_MAJOR,
                _CONJUGATE_TRANSPOSED if transpose_a else _NOT_TRANSPOSED,
                _CONJUGATE_TRANSPOSED if transpose_b else _NOT_TRANSPOSED,
                rows,
                columns,
                block.last - first,
                alpha,
                a + a_offset * size,
                m if transpose_a else k,
                b + b_offset * size,
                k if transpose_b else n,
                beta,
                c,
                c_step,
            )
            beta = one
        if maps:
            map_block(launch, block, c, c_step, 0, rows)
            if memory != 0:
                release(memory)

    return multiply
