"""Tables in registers: every entry is found, in vectors and in remainders, by instructions instead of calls."""

import json

import numpy as np
import pytest

from ep.cpu.compile.target import has_avx2, is_aarch64
from ep.cpu.vector_math.lookup import NUM_SMALL, has_register_tables, num_entries, table
from tests.cpu.test_code import innermost_loops
from tests.subprocesses import run

needs_avx512 = pytest.mark.skipif(not has_register_tables(), reason="needs AVX-512")
needs_aarch64 = pytest.mark.skipif(not is_aarch64(), reason="needs AArch64")
needs_avx2 = pytest.mark.skipif(not has_avx2(), reason="needs AVX2")

# runs in its own process, because kernels loaded from the cache have no assembly
PROGRAM = """
import ctypes, json
import numpy as np
from ep.common.native.machine_code import LIBRARIES
from ep.cpu.compile import compiler
from ep.cpu.compile.jit import interleaved
from ep.cpu.compile.memory import loader, storer
from ep.common.native.words import load_word
from ep.cpu.vector_math.lookup import table
from ep.include import DataType as T

real_type = np.{name}
is_single = real_type is np.float32
data_type, index_type = (T.kFloat, T.kInt32) if is_single else (T.kDouble, T.kInt64)
values = np.random.default_rng({seed}).standard_normal((2, {count})).astype(real_type)
first, second = (table(part, real_type) for part in values)
load, store = loader(index_type), storer(data_type)

@interleaved
def loop(src, dst, count):
    for i in range(count):
        index = load(src, i)
        store(dst, i, first(index) * second(index))

def task(src, dst, count):
    loop(src, dst, count)

address = compiler.compile_task("lookup", task)
indices = np.random.default_rng({seed}).integers(-1000, 1000, 331).astype(index_type.dtype)
found = np.zeros(indices.size, real_type)
ctypes.CFUNCTYPE(None, *(ctypes.c_int64,) * 3)(address)(indices.ctypes.data, found.ctypes.data, indices.size)
expected = np.multiply(*values)[indices % values.shape[1]]
print(json.dumps([int((found != expected).sum()), LIBRARIES[-1].get_asm_str()]))
"""


@pytest.mark.parametrize(
    ("name", "count", "register"),
    [
        pytest.param("float32", 32, "zmm", marks=needs_avx512),
        pytest.param("float64", 16, "zmm", marks=needs_avx512),
        pytest.param("float32", 8, "ymm", marks=needs_avx2),
        pytest.param("float32", 8, "tbl", marks=needs_aarch64),
    ],
)
def test_every_entry_is_found(run_forked, name, count, register, rng, tmp_path):
    program = PROGRAM.format(name=name, count=count, seed=int(rng.integers(2**31)))
    wrong, assembly = json.loads(run_forked(program, EP_CACHE_DIR=str(tmp_path)))
    assert wrong == 0
    packed = [loop for loop in innermost_loops(assembly) if register in loop]
    assert packed
    for loop in packed:
        if not is_aarch64():
            names = ("vpermt2p", "vpermi2p") if count > NUM_SMALL else ("vpermd", "vpermps")
            assert any(one in loop for one in names)
        assert "call" not in loop


@needs_avx2
def test_small_tables_need_no_avx2(rng, tmp_path):
    program = PROGRAM.format(name="float32", count=NUM_SMALL, seed=int(rng.integers(2**31)))
    processor = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "-avx2"}
    wrong, assembly = json.loads(run(program, EP_CACHE_DIR=str(tmp_path), **processor))
    assert wrong == 0
    assert "vperm" not in assembly


def test_number_of_entries():
    assert (num_entries(np.float32), num_entries(np.float64)) == (32, 16)
    with pytest.raises(ValueError, match="15 entries, expected 16"):
        table([1.0] * 15, np.float64)
    with pytest.raises(ValueError, match="16 entries, expected 8 or 32"):
        table([1.0] * 16, np.float32)
