"""Tables in registers: every entry is found, in vectors and in remainders, by instructions instead of calls."""

import json

import numpy as np
import pytest

from ep.cpu.vector_math.lookup import has_register_tables, num_entries, table
from tests.cpu.test_code import innermost_loops

pytestmark = pytest.mark.skipif(not has_register_tables(), reason="needs AVX-512")

# runs in its own process, because kernels loaded from the cache have no assembly
PROGRAM = """
import ctypes, json
import numpy as np
from ep.common.native.machine_code import LIBRARIES
from ep.cpu.compile import compiler
from ep.cpu.compile.jit import interleaved
from ep.cpu.compile.memory import loader, storer
from ep.common.native.words import load_word
from ep.cpu.vector_math.lookup import num_entries, table
from ep.include import DataType as T

real_type = np.{name}
is_single = real_type is np.float32
data_type, index_type = (T.kFloat, T.kInt32) if is_single else (T.kDouble, T.kInt64)
values = np.random.default_rng({seed}).standard_normal((2, num_entries(real_type))).astype(real_type)
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


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_every_entry_is_found(run_forked, name, rng, tmp_path):
    wrong, assembly = json.loads(
        run_forked(PROGRAM.format(name=name, seed=int(rng.integers(2**31))), EP_CACHE_DIR=str(tmp_path))
    )
    assert wrong == 0
    packed = [loop for loop in innermost_loops(assembly) if "zmm" in loop]
    assert packed
    for loop in packed:
        assert "vpermt2p" in loop or "vpermi2p" in loop
        assert "call" not in loop


def test_number_of_entries():
    assert (num_entries(np.float32), num_entries(np.float64)) == (32, 16)
    with pytest.raises(ValueError, match="15 entries, expected 16"):
        table([1.0] * 15, np.float64)
