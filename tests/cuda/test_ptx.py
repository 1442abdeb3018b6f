"""The PTX of the main kernels, compiled for sm_90 and sm_80 without a device, and what ptxas makes of it."""

import fcntl
import json
import re
import subprocess

import pytest

from ep import BinaryOp, UnaryOp
from ep.common.stored_types import unit_of
from ep.cuda.access import Access
from ep.cuda.tile import Tile
from ep.include import DataType
from tests.subprocesses import run_on_numba_cuda
from tools.ptx import Loop, find_ptxas, instructions, main_loop, resources

# Not in this process: Numba's simulator may run here, and cannot compile.
COMPILE = """
import json
import subprocess
from ep import BinaryOp, UnaryOp
from ep.cuda.access import Access, Variant
from ep.common.stored_types import unit_of
from ep.cuda.engine import reduce
from ep.cuda.engine import rows as row_engine
from ep.cuda.engine.functor import functor_of
from ep.cuda.engine.map import kernel
from ep.cuda.kernels import add, compiler, gather, move, one_hot, pad, segment_sum, softmax, sort, transpose, where
from ep.cuda.launch_config import pack_elements
from ep.cuda.reduce_plan import Axes, ColumnVariant, FinishVariant, RowVariant
from ep.cuda.row_plan import Keep, PartVariant, Stage
from ep.cuda.row_plan import RowVariant as SoftmaxVariant
from ep.cuda.tile import Tile
from ep.include import DataType
from ep.include.primitive import ReduceOp

kernels = {{}}
for op, src, dst in {unary}:
    functor = functor_of(UnaryOp[op], DataType[src], DataType[dst])
    elements = pack_elements(DataType[src], DataType[dst])
    kernels[f"{{op}} {{src}} {{dst}}"] = kernel(functor, Variant(elements, (Access.SAME,)))
for name, read, written, num_axes in {strided}:
    data_type = DataType[name]
    elements = 1 if written == "EACH" else pack_elements(data_type)
    variant = Variant(elements, (Access[read],), num_axes, 32, Access[written])
    functor = functor_of(UnaryOp.kNegative, data_type, data_type)
    kernels[f"strided {{name}} {{read}} {{written}}"] = kernel(functor, variant)
for cond, data, *ways, num_axes in {choices}:
    cond, unit = unit_of(DataType[cond]), unit_of(DataType[data])
    variant = Variant(pack_elements(cond, unit), tuple(Access[way] for way in ways), num_axes)
    kernels[f"where {{cond.name}} {{unit.name}} {{' '.join(ways)}}"] = kernel(where.functor(cond, unit), variant)
for name, number in {sums_of}:
    data_type = DataType[name]
    variant = Variant(pack_elements(data_type), (Access.SAME,) * number)
    kernels[f"add {{name}} {{number}}"] = kernel(add.functor(data_type, number), variant)
for types in {many}:
    first, others, dst = (DataType[name] for name in types)
    elements = pack_elements(first, others, dst)
    kernels[f"add {{' '.join(types)}}"] = add.many_kernel(first, others, dst, elements)
for indices, data, in_rows in {one_hot}:
    unit = unit_of(DataType[data])
    kernels[f"one_hot {{indices}} {{unit.name}} {{in_rows}}"] = one_hot.kernel(
        DataType[indices], unit, pack_elements(unit), bool(in_rows), 32
    )
for op, src, dst, elements, access0, access1, num_axes, bits in {binary}:
    variant = Variant(elements, (Access[access0], Access[access1]), num_axes, bits)
    functor = functor_of(BinaryOp[op], DataType[src], DataType[dst])
    kernels[f"{{op}} {{src}} {{dst}} {{access0}} {{access1}} {{bits}}"] = kernel(functor, variant)
for indices, unit, bits in {gather}:
    kernels[f"gather {{indices}} {{unit}} {{bits}}"] = gather.kernel(DataType[indices], unit, bits, False, False)
for num_axes, unit, pack_units, bits in {move}:
    kernels[f"move {{num_axes}} {{unit}} {{pack_units}} {{bits}}"] = move.kernel(num_axes, unit, pack_units, bits)
for unit, side, columns, rows, num_axes, bits in {transpose}:
    name = f"transpose {{unit}} {{side}} {{columns}} {{rows}} {{num_axes}} {{bits}}"
    kernels[name] = transpose.kernel(Tile(unit, side, columns, rows), num_axes, bits)
for num_axes, unit, pack_units, bits in {pad}:
    kernels[f"pad {{num_axes}} {{unit}} {{pack_units}} {{bits}}"] = pad.kernel(num_axes, unit, pack_units, bits)
for op, name, elements, aligned, threads in {reduced_rows}:
    variant = RowVariant(Axes(1, 1, 32), elements, bool(aligned), threads, False)
    kernel_of_rows = reduce.kernel(ReduceOp[op], DataType[name], DataType[name], variant)
    kernels[f"rows {{op}} {{name}} {{aligned}} {{threads}}"] = kernel_of_rows
for op, name, elements, sharers, partial in {reduced_columns}:
    variant = ColumnVariant(Axes(2, 1, 32), elements, True, sharers, bool(partial))
    kernel_of_columns = reduce.kernel(ReduceOp[op], DataType[name], DataType[name], variant)
    kernels[f"columns {{op}} {{name}} {{sharers}} {{partial}}"] = kernel_of_columns
kernels["finish"] = reduce.kernel(ReduceOp.kMean, DataType.kDouble, DataType.kDouble, FinishVariant(32))
for function, name, *variant in {softmaxes}:
    keep, aligned, threads, packs = variant
    kernels[f"{{function}} {{name}} {{keep}} {{aligned}} {{packs}}"] = row_engine.kernel(
        getattr(softmax, function), DataType[name], SoftmaxVariant(Keep[keep], bool(aligned), threads, packs)
    )
for function, name, stage in {stages}:
    kernels[f"{{function}} {{name}} {{stage}}"] = row_engine.kernel(
        getattr(softmax, function), DataType[name], PartVariant(Stage[stage], True, 512)
    )
for name, elements in {segments}:
    kernels[f"segments {{name}} {{elements}}"] = segment_sum.sum_kernel(DataType[name], DataType.kInt32, elements, 32)
    kernels[f"long segments {{name}} {{elements}}"] = segment_sum.long_kernel(DataType[name], DataType.kInt32, 32, 64)
kernels["segment keys"] = segment_sum.key_kernel(DataType.kInt64, DataType.kInt32, 32)
kernels["segment begins"] = segment_sum.begin_kernel(DataType.kInt32)
for name in ("count", "scan", "scatter", "block"):
    kernels[f"sort {{name}}"] = getattr(sort, f"{{name}}_kernel")(DataType.kInt32)
texts = [{{name: compiler.ptx(kernel, cc) for name, kernel in kernels.items()}} for cc in {capabilities}]
print(json.dumps(texts))
"""

T, U, B, A = DataType, UnaryOp, BinaryOp, Access

UNARY = [
    # the key, and the bytes of its widest load and store: 16 of the larger type
    (U.kRelu, T.kFloat, T.kFloat, 16, 16),
    (U.kRelu, T.kDouble, T.kDouble, 16, 16),
    (U.kRelu, T.kFloat16, T.kFloat16, 16, 16),
    (U.kGelu, T.kFloat, T.kFloat, 16, 16),
    (U.kGelu, T.kBFloat16, T.kBFloat16, 16, 16),
    (U.kRelu, T.kInt8, T.kInt8, 16, 16),
    (U.kSqrt, T.kComplex64, T.kComplex64, 16, 16),
    (U.kSqrt, T.kComplex128, T.kComplex128, 16, 16),
    (U.kLogicalNot, T.kBool, T.kBool, 16, 16),
    (U.kIsNan, T.kFloat, T.kBool, 16, 4),
    (U.kReal, T.kComplex64, T.kFloat16, 16, 4),
    (U.kLeakyRelu, T.kFloat, T.kFloat, 16, 16),
    (U.kTanh, T.kFloat, T.kFloat, 16, 16),
    (U.kSoftPlus, T.kFloat, T.kFloat, 16, 16),
    (U.kQuickGelu, T.kFloat, T.kFloat, 16, 16),
    (U.kExp, T.kFloat16, T.kFloat16, 16, 16),
    (U.kIdentity, T.kBFloat16, T.kBFloat16, 16, 16),
    (U.kCast, T.kFloat, T.kFloat16, 16, 8),
    (U.kCast, T.kInt64, T.kBFloat16, 16, 4),
    (U.kCast, T.kBool, T.kFloat, 4, 16),
    (U.kCast, T.kFloat16, T.kInt8, 16, 8),
    (U.kCast, T.kInt32, T.kComplex64, 8, 16),
    (U.kCast, T.kBFloat16, T.kUInt64, 4, 16),
]
STRIDED = [
    # how src is read and dst is written, and the axes of the walk
    ("kFloat", "PACK", "PACK", 3, 16, 16),
    ("kFloat", "SPREAD", "PACK", 2, 4, 16),
    ("kBFloat16", "EACH", "EACH", 4, 2, 2),
    ("kComplex64", "EACH", "SAME", 3, 4, 16),
    ("kFloat", "SINGLE", "SAME", 0, 4, 16),
]
CHOICES = [
    ("kBool", "kFloat", "SAME", "SAME", "SAME", 0, 16, 16),
    ("kBool", "kInt8", "SAME", "SAME", "SAME", 0, 16, 16),
    ("kInt64", "kBFloat16", "SAME", "SAME", "SAME", 0, 16, 4),
    ("kBool", "kComplex128", "SAME", "SAME", "NUMBER", 0, 16, 16),
    ("kBool", "kFloat", "PACK", "SAME", "NUMBER", 2, 16, 16),
]
ADDED = [("kFloat", 2, 16), ("kFloat", 8, 16), ("kBFloat16", 8, 16), ("kInt8", 3, 16), ("kBool", 2, 16)]
MANY = [("kFloat", "kFloat", "kFloat", 16, 16), ("kFloat", "kFloat16", "kFloat16", 16, 8)]
ONE_HOT = [("kInt64", "kFloat", 1, 8, 16), ("kInt64", "kFloat", 0, 8, 16), ("kInt32", "kBool", 0, 4, 16)]
BINARY = [
    (B.kAdd, T.kFloat, T.kFloat, 4, A.SAME, A.SAME, 0, 32, 16, 16),
    (B.kAdd, T.kFloat, T.kFloat, 4, A.SAME, A.PACK, 2, 32, 16, 16),
    (B.kAdd, T.kFloat, T.kFloat, 4, A.SPREAD, A.SAME, 2, 32, 16, 16),
    (B.kAdd, T.kFloat, T.kFloat, 4, A.SAME, A.NUMBER, 0, 32, 16, 16),
    (B.kAdd, T.kFloat, T.kFloat, 4, A.EACH, A.EACH, 3, 32, 4, 16),
    (B.kAdd, T.kFloat, T.kFloat, 4, A.EACH, A.SAME, 3, 64, 16, 16),
    (B.kSub, T.kBFloat16, T.kBFloat16, 8, A.SAME, A.PACK, 2, 32, 16, 16),
    (B.kMul, T.kFloat16, T.kFloat16, 8, A.SAME, A.SINGLE, 0, 32, 16, 16),
    (B.kLessThan, T.kInt32, T.kBool, 4, A.SAME, A.SAME, 0, 32, 16, 4),
    (B.kMul, T.kComplex128, T.kComplex128, 1, A.PACK, A.NUMBER, 3, 64, 16, 16),
    (B.kFloorDiv, T.kInt32, T.kInt32, 4, A.SAME, A.SAME, 0, 32, 16, 16),
    (B.kFloorMod, T.kInt8, T.kInt8, 16, A.SAME, A.SAME, 0, 32, 16, 16),
    (B.kPow, T.kFloat, T.kFloat, 4, A.SAME, A.SAME, 0, 32, 16, 16),
    (B.kTanhBackwardWithDyY, T.kFloat16, T.kFloat16, 8, A.SAME, A.SAME, 0, 32, 16, 16),
]
GATHER = [("kInt64", 16, 32), ("kInt32", 4, 32), ("kUInt8", 1, 64), ("kInt64", 16, 64)]
REDUCED_ROWS = [
    # the op and type, the elements of a pack, whether rows are aligned, and the threads of a row
    ("kSum", "kFloat", 4, 1, 256),
    ("kSum", "kFloat", 4, 0, 32),
    ("kSum", "kDouble", 2, 1, 256),
    ("kSum", "kBFloat16", 8, 1, 32),
    ("kMax", "kInt8", 16, 1, 8),
    ("kMean", "kDouble", 2, 1, 256),
    ("kProd", "kComplex64", 2, 1, 1),
]
REDUCED_COLUMNS = [
    # the op and type, the results of a thread, the threads that share them, and whether blocks have parts
    ("kSum", "kFloat", 4, 8, 1),
    ("kMax", "kBFloat16", 4, 1, 0),
    ("kMean", "kDouble", 2, 64, 0),
    ("kSum", "kUInt8", 4, 8, 0),
]
SOFTMAXES = [
    # the function and type, where rows are kept, whether they are aligned, the threads of a row and the packs of each
    ("softmax", "kFloat", "REGISTERS", 1, 32, 8),
    ("softmax", "kBFloat16", "REGISTERS", 1, 32, 4),
    ("log_softmax", "kDouble", "REGISTERS", 1, 32, 4),
    ("softmax_backward", "kFloat", "REGISTERS", 1, 32, 8),
    ("log_softmax_backward", "kFloat16", "REGISTERS", 0, 4, 1),
    ("softmax", "kFloat", "SHARED", 1, 256, 0),
    ("log_softmax", "kBFloat16", "SHARED", 0, 512, 0),
    ("softmax_backward", "kDouble", "SHARED", 1, 256, 0),
    ("softmax", "kDouble", "NOWHERE", 1, 512, 0),
    ("log_softmax", "kFloat", "NOWHERE", 1, 512, 0),
    ("log_softmax_backward", "kFloat", "NOWHERE", 1, 512, 0),
]
STAGES = [
    # the function and type, the kernel for parts of rows, and the bytes of its widest store
    ("softmax", "kFloat", "MAXIMA_AND_SUMS", 8),
    ("log_softmax", "kBFloat16", "MAXIMA_AND_SUMS", 8),
    ("softmax", "kDouble", "MAXIMA", 8),
    ("log_softmax", "kDouble", "SUMS", 8),
    ("softmax_backward", "kFloat", "SUMS", 8),
    ("softmax", "kFloat", "RESULTS", 16),
    ("log_softmax_backward", "kFloat", "RESULTS", 16),
]
SEGMENTS = [("kFloat", 4), ("kBFloat16", 8), ("kComplex128", 1)]
SORTS = ("segment keys", "segment begins", "sort count", "sort scan", "sort scatter", "sort block")
MOVE = [(1, 16, 1, 32), (2, 16, 1, 32), (2, 4, 4, 32), (4, 1, 16, 32), (3, 2, 8, 64)]
MOVE += [(3, 8, 0, 32), (2, 16, 0, 32), (3, 1, 0, 64)]
TRANSPOSE = [
    (4, 1, 64, 32, 2, 32),
    (4, 1, 64, 32, 4, 64),
    (8, 1, 64, 32, 3, 32),
    (16, 1, 32, 32, 2, 32),
    (2, 2, 32, 32, 2, 32),
    (1, 4, 32, 32, 3, 64),
    (1, 1, 64, 32, 2, 32),
    (4, 1, 4, 64, 2, 32),
    (4, 1, 8, 8, 3, 32),
]
PAD = [(2, 16, 1, 32), (2, 4, 4, 32), (3, 1, 16, 64), (4, 2, 8, 32), (2, 8, 1, 32)]

WIDTHS = {
    **{f"{op.name} {src.name} {dst.name}": widths for op, src, dst, *widths in UNARY},
    **{
        f"{op.name} {src.name} {dst.name} {access0.name} {access1.name} {bits}": widths
        for op, src, dst, _, access0, access1, _, bits, *widths in BINARY
    },
    **{f"strided {name} {read} {written}": widths for name, read, written, _, *widths in STRIDED},
    **{
        f"where {unit_of(T[cond]).name} {unit_of(T[data]).name} {' '.join(ways)}": widths
        for cond, data, *ways, _, load, store in CHOICES
        for widths in [[load, store]]
    },
    **{f"add {name} {number}": [width, width] for name, number, width in ADDED},
    **{f"add {' '.join(types)}": widths for *types, load, store in MANY for widths in [[load, store]]},
    **{f"one_hot {indices} {unit_of(T[data]).name} {in_rows}": widths for indices, data, in_rows, *widths in ONE_HOT},
    **{f"gather {indices} {unit} {bits}": [max(unit, T[indices].itemsize), unit] for indices, unit, bits in GATHER},
    **{
        f"rows {op} {name} {aligned} {threads}": [16 if aligned else T[name].itemsize, T[name].itemsize]
        for op, name, _, aligned, threads in REDUCED_ROWS
    },
    **{
        f"columns {op} {name} {sharers} {partial}": [elements * T[name].itemsize, 8 if partial else T[name].itemsize]
        for op, name, elements, sharers, partial in REDUCED_COLUMNS
    },
    "finish": [8, 8],
    **{
        f"{function} {name} {keep} {aligned} {packs}": [16 if aligned else T[name].itemsize] * 2
        for function, name, keep, aligned, _, packs in SOFTMAXES
    },
    **{f"{function} {name} {stage}": [16, width] for function, name, stage, width in STAGES},
    **{f"segments {name} {elements}": [16, 16] for name, elements in SEGMENTS},
    **{f"long segments {name} {elements}": [max(4, T[name].itemsize), T[name].itemsize] for name, elements in SEGMENTS},
    "segment keys": [8, 4],
    **{name: [4, 4] for name in SORTS[1:]},
    **{f"move {axes} {unit} {pack} {bits}": [unit, unit * (pack or 1)] for axes, unit, pack, bits in MOVE},
    **{f"transpose {' '.join(map(str, tile))}": [tile[0] * tile[1]] * 2 for tile in TRANSPOSE},
    **{f"pad {axes} {unit} {pack} {bits}": [unit, unit * pack] for axes, unit, pack, bits in PAD},
}

REGISTERS = 64
"""At most so many: four blocks of 256 threads are resident on a multiprocessor, two packs under way in each thread."""

SORT_REGISTERS = 80
"""For kernels that sort, and wait for shared memory: three blocks are resident. On 9.0 they need 64, on 8.0 more."""

ROW_REGISTERS = 128
"""For kernels that keep rows in registers, or have 512 threads in a block: then there are enough in all."""


CAPABILITIES = [(9, 0), (8, 0)]


@pytest.fixture(scope="module")
def compiled(request, tmp_path_factory):
    """For each of CAPABILITIES the PTX of the kernels, by name. Workers of pytest-xdist compile it once for all."""
    code = COMPILE.format(
        unary=[(op.name, src.name, dst.name) for op, src, dst, *_ in UNARY],
        binary=[
            (op.name, src.name, dst.name, elements, access0.name, access1.name, num_axes, bits)
            for op, src, dst, elements, access0, access1, num_axes, bits, *_ in BINARY
        ],
        gather=GATHER,
        move=MOVE,
        transpose=TRANSPOSE,
        pad=PAD,
        reduced_rows=REDUCED_ROWS,
        reduced_columns=REDUCED_COLUMNS,
        softmaxes=SOFTMAXES,
        stages=[row[:3] for row in STAGES],
        segments=SEGMENTS,
        strided=[row[:4] for row in STRIDED],
        choices=[row[:-2] for row in CHOICES],
        sums_of=[row[:2] for row in ADDED],
        many=[row[:3] for row in MANY],
        one_hot=[row[:3] for row in ONE_HOT],
        capabilities=CAPABILITIES,
    )
    folder = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        folder = folder.parent  # of the run, which the workers share
    kept = folder / "ptx.json"
    with open(kept.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            kept.write_text(json.dumps(run_on_numba_cuda(code)))
    return json.loads(kept.read_text())


@pytest.fixture(scope="module", params=range(len(CAPABILITIES)), ids=[f"sm_{a}{b}" for a, b in CAPABILITIES])
def texts(request, compiled):
    """The PTX of the kernels, by name, and the compute capability."""
    return compiled[request.param], CAPABILITIES[request.param]


@pytest.mark.parametrize("name", WIDTHS)
def test_memory_is_accessed_in_packs(texts, name):
    found = instructions(texts[0][name])
    assert [found.widest_load, found.widest_store] == WIDTHS[name]


@pytest.mark.parametrize("name", WIDTHS)
def test_no_detours(texts, name):
    """Nothing goes through local memory, no index is divided, and 32-bit numbers are not computed with in 64 bits.

    Sums of rows are, where that keeps their errors away.
    """
    found = instructions(texts[0][name])
    assert found.local == 0
    assert found.division64 == 0
    assert found.calls == 0
    if not any(word in name for word in ("kDouble", "kComplex128", "finish", "softmax", "kProd", " kSum k")):
        assert found.float64 == 0


@pytest.mark.parametrize("name", [name for name in WIDTHS if name.startswith("rows")])
def test_threads_of_a_row_meet_by_shuffles_and_shared_memory(texts, name):
    text, row_threads = texts[0][name], int(name.split()[-1])
    assert ("shfl.sync.bfly" in text) == (row_threads > 1)
    assert (".shared" in text and "bar.sync" in text) == (row_threads > 32)


@pytest.mark.parametrize("name", [name for name in WIDTHS if name.startswith("transpose")])
def test_tiles_go_through_shared_memory_by_constant_offsets(texts, name):
    """A number of a cell is one store and one load of shared memory, a cell is turned without shifting."""
    text, (unit, side, columns, rows, *_) = texts[0][name], map(int, name.split()[1:])
    tile = Tile(unit, side, columns, rows)
    numbers = tile.planes * tile.cells_per_thread
    assert len(re.findall(r"\bst\.shared", text)) == len(re.findall(r"\bld\.shared", text)) == numbers
    assert text.count("prmt.b32") == {1: 0, 2: 2, 4: 8}[side] * tile.cells_per_thread
    assert text.count("bar.sync") == 2


def test_the_main_loop_is_the_one_that_writes_most(texts):
    loop = main_loop(texts[0]["move 2 4 4 32"])
    assert (loop.loaded, loop.stored) == (16, 16)
    assert 20 < loop.instructions < 100
    loop = main_loop(texts[0]["transpose 2 2 32 32 2 32"])
    assert (loop.loaded, loop.stored) == (32, 32)
    nested = ".entry\n$A:\nst.global.u32 [%r], %r;\n$B:\nst.global.u64 [%r], %r;\n@%p bra $B;\n@%p bra $A;\nret;"
    assert main_loop(nested) == Loop(2, 0, 8)


def test_what_the_assertions_look_for_would_be_found(texts):
    assert instructions(texts[0]["kRelu kDouble kDouble"]).float64 > 0
    assert instructions(".entry\n\tdiv.s64 %rd1, %rd2, %rd3;\n\tld.local.u32 %r1, [%rd1];").division64 == 1
    assert instructions(".entry\n\tst.local.u32 [%rd1], %r1;").local == 1
    assert instructions(".entry\n\tld.global.nc.v4.f32 {%f1}, [%rd1];").widest_load == 16


@pytest.mark.parametrize("name", WIDTHS)
def test_registers(texts, name):
    ptxas = find_ptxas()
    if ptxas is None:
        pytest.skip("ptxas is not installed")
    try:
        used = resources(ptxas, texts[0][name], texts[1])
    except subprocess.CalledProcessError as error:
        if "Unsupported .version" not in error.stderr:
            raise
        pytest.skip("ptxas is older than NVVM")
    assert (used.stack, used.spill_stores, used.spill_loads) == (0, 0, 0)
    most = ROW_REGISTERS if "softmax" in name else SORT_REGISTERS if name.startswith("sort ") else REGISTERS
    assert 0 < used.registers <= most
