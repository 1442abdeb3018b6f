"""The PTX of the main kernels, compiled for sm_90 and sm_80 without a device, and the output of ptxas for it."""

import random
import re
import subprocess

import pytest

from ep.cuda.engine.map import kernel as map_engine
from ep.cuda.engine.map.access import Access, Variant
from ep.cuda.engine.map.functor import functor_of
from ep.cuda.engine.move.tile import Tile
from ep.include import DataType
from ep.include.primitive import UnaryOp
from tests.cuda.main_kernels import MAIN_KERNELS, ptx
from tools.commit import commit
from tools.gpus import pipe_of
from tools.ptx import Loop, find_ptxas, instructions, main_loop, resources

REGISTERS = 64
"""The limit of registers: four blocks of 256 threads are resident on a multiprocessor, with two packs in flight in each
thread.
"""

SEVERAL_REGISTERS = 80
"""The limit for kernels that sort, and wait for shared memory, or that compute the values that they reduce: three
blocks are resident. On 9.0 they need 64, on 8.0 more.
"""

ROW_REGISTERS = 128
"""The limit for kernels that keep rows in registers, load many of them at once, or have 512 threads in a block: these
then have enough loads or threads in total.
"""

CAPABILITIES = [(9, 0), (8, 0)]
SOME = random.Random(commit()).sample([*MAIN_KERNELS], len(MAIN_KERNELS) // 4)
"""The kernels that are compiled for the older architecture, too: each commit has others."""

of_main_kernels = pytest.mark.parametrize(
    ("name", "capability"),
    [*((name, CAPABILITIES[0]) for name in MAIN_KERNELS), *((name, CAPABILITIES[1]) for name in SOME)],
    ids=lambda value: value if isinstance(value, str) else "sm_{}{}".format(*value),
)


@pytest.fixture(params=CAPABILITIES, ids=[f"sm_{a}{b}" for a, b in CAPABILITIES])
def capability(request):
    return request.param


@pytest.fixture
def text_of(capability):
    """Return the PTX of a kernel, by its name."""
    return lambda name: ptx(MAIN_KERNELS[name].make(), capability)


@of_main_kernels
def test_packs_and_no_detours(text_of, name):
    """Kernels access memory in packs, use no local memory, divide no index, and do not compute with 32-bit numbers in
    64 bits.

    Only sums of rows do the latter, to reduce their errors.
    """
    found = instructions(text_of(name))
    assert (found.widest_load, found.widest_store) == MAIN_KERNELS[name][1:]
    assert (found.local, found.division64, found.calls) == (0, 0, 0)
    if not any(
        word in name for word in ("kDouble", "kComplex128", "finish", "softmax", "kProd", " kSum k", "fused rows")
    ):
        assert found.float64 == 0


@pytest.mark.parametrize(
    ("op", "data_type", "at_once"),
    [(UnaryOp.kRelu, DataType.kFloat, 4), (UnaryOp.kAbs, DataType.kInt8, 8), (UnaryOp.kGelu, DataType.kBFloat16, 8)],
    ids=str,
)
def test_what_is_not_aligned_is_loaded_several_at_a_time(op, data_type, at_once, capability):
    """Loads of views of any alignment: a thread loads elements one by one."""
    source = map_engine.kernel(functor_of(op, data_type, data_type), Variant(1, (Access.SAME,)))
    loop = main_loop(ptx(source, capability))
    assert loop.loaded == loop.stored == at_once * data_type.itemsize


@pytest.mark.parametrize("name", [name for name in MAIN_KERNELS if name.startswith("rows")])
def test_threads_of_a_row_meet_by_shuffles_and_shared_memory(text_of, name):
    text, row_threads = text_of(name), int(name.split()[-1])
    assert ("shfl.sync.bfly" in text) == (row_threads > 1)
    assert (".shared" in text and "bar.sync" in text) == (row_threads > 32)


@pytest.mark.parametrize("name", [name for name in MAIN_KERNELS if name.startswith("transpose")])
def test_tiles_go_through_shared_memory_by_constant_offsets(text_of, name):
    """A number of a cell takes one store and one load of shared memory; a cell is transposed without shifts."""
    text, (unit, side, columns, rows, *_) = text_of(name), map(int, name.split()[1:])
    tile = Tile(unit, side, columns, rows)
    numbers = tile.planes * tile.cells_per_thread
    assert len(re.findall(r"\bst\.shared", text)) == len(re.findall(r"\bld\.shared", text)) == numbers
    assert text.count("prmt.b32") == {1: 0, 2: 2, 4: 8}[side] * tile.cells_per_thread
    assert text.count("bar.sync") == 2


@pytest.mark.parametrize("name", ["kGelu kFloat kFloat", "fused saxpy chain SAME", "fused AMSGrad SAME"])
def test_the_assembler_fuses_no_product_with_a_sum(text_of, name):
    """Fusion across ops would give a kernel of several ops other bits than their own kernels; `.rn` forbids it."""
    text = text_of(name)
    assert re.search(r"\bmul\.rn\.f32", text)
    assert not re.search(r"\b(add|sub|mul)\.f(32|64)\b", text)


def test_the_main_loop_is_the_one_that_writes_most(text_of):
    loop = main_loop(text_of("move 2 4 1 32"))
    assert (loop.loaded, loop.stored) == (16, 16)
    assert 20 < loop.instructions < 100
    loop = main_loop(text_of("transpose 2 2 32 32 2 32"))
    assert (loop.loaded, loop.stored) == (32, 32)
    nested = ".entry\n$A:\nst.global.u32 [%r], %r;\n$B:\nst.global.u64 [%r], %r;\n@%p bra $B;\n@%p bra $A;\nret;"
    assert main_loop(nested) == Loop(2, 0, 8)


@pytest.mark.parametrize(
    ("pipe", "names"),
    [
        ("mufu", ["ex2.approx.ftz.f32", "lg2.approx.f32", "rcp.approx.ftz.f32", "div.full.f32", "sqrt.approx.f32"]),
        ("fp64", ["fma.rn.f64", "add.f64", "setp.lt.f64", "max.f64"]),
        ("f2f", ["cvt.f64.f32", "cvt.rn.f32.f64", "cvt.rzi.s64.f32", "cvt.rn.f64.s64", "cvt.rn.f32.u64"]),
        (None, ["fma.rn.f32", "cvt.u64.u32", "cvt.f32.f16", "cvt.rn.bf16x2.f32", "ld.global.v2.f64", "mov.b64"]),
    ],
)
def test_pipes_of_instructions(pipe, names):
    assert {pipe_of(name) for name in names} == {pipe}


def test_the_pipes_of_a_loop(text_of):
    pipes = main_loop(text_of("kGelu kFloat kFloat")).pipes
    assert pipes["mufu"] > 0 == pipes["fp64"]


def test_what_the_assertions_look_for_would_be_found(text_of):
    assert instructions(text_of("kRelu kDouble kDouble")).float64 > 0
    assert instructions(".entry\n\tdiv.s64 %rd1, %rd2, %rd3;\n\tld.local.u32 %r1, [%rd1];").division64 == 1
    assert instructions(".entry\n\tst.local.u32 [%rd1], %r1;").local == 1
    assert instructions(".entry\n\tld.global.nc.v4.f32 {%f1}, [%rd1];").widest_load == 16


@of_main_kernels
def test_registers(text_of, capability, name):
    ptxas = find_ptxas()
    if ptxas is None:
        pytest.skip("ptxas is not installed")
    try:
        used = resources(ptxas, text_of(name), capability)
    except subprocess.CalledProcessError as error:
        if "Unsupported .version" not in error.stderr:
            raise
        pytest.skip("ptxas is older than NVVM")
    assert (used.stack, used.spill_stores, used.spill_loads) == (0, 0, 0)
    has_rows = "softmax" in name or name.startswith(("segment parts", "long segments"))
    several = name.startswith(("sort ", "computed "))
    most = ROW_REGISTERS if has_rows else SEVERAL_REGISTERS if several else REGISTERS
    assert 0 < used.registers <= most
