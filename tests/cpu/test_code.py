"""The machine code of row kernels: packed instructions in the loops, no calls, no arithmetic in a wider type."""

import json
import platform
import re
from functools import cache

import pytest
from llvmlite import binding as llvm

from ep import BinaryOp, UnaryOp
from ep.cpu.kernels.functors import is_single
from ep.cpu.vector_math.lookup import has_register_tables
from ep.cpu.vector_math.sets.names import FLOAT64
from ep.include import DataType
from tests.subprocesses import answering

pytestmark = pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64"), reason="reads the instructions of x86-64"
)

# Do not load kernels from the cache: a loaded kernel has no assembly. Later tests find the compiled ones there.
COMPILE = """
import json, sys
from ep.cpu.machine.kernel_cache import CACHE
CACHE.read = lambda name, form: None
from ep import BinaryOp, UnaryOp
from ep.common.native.machine_code import LIBRARIES
from ep.cpu.kernels.functors import op_kernel
from ep.include import DataType

for line in sys.stdin:
    kind, op, src, dst = line.split()
    op_kernel({"UnaryOp": UnaryOp, "BinaryOp": BinaryOp}[kind][op], DataType[src], DataType[dst])
    library = LIBRARIES[-1]
    print(json.dumps([library.get_asm_str(), library.get_llvm_str()]), flush=True)
"""

FEATURES = llvm.get_host_cpu_features()
CONVERTS = not FEATURES.get("avx512fp16")  # other processors compute float16 in float32
FROM_HALF, TO_HALF = "vcvtph2ps", "vcvtps2ph"

T = DataType
PACKED = [
    # the key, and patterns that one packed loop must match; AT&T syntax, with or without AVX
    (UnaryOp.kRelu, T.kFloat, T.kFloat, [r"v?(cmp\w*|max)ps"]),
    (UnaryOp.kRelu, T.kDouble, T.kDouble, [r"v?(cmp\w*|max)pd"]),
    # x or 0 is stored without a conversion back; processors with float16 arithmetic convert nothing
    (UnaryOp.kRelu, T.kFloat16, T.kFloat16, [FROM_HALF, r"v?(cmp\w*|max)ps"] if CONVERTS else [r"v?(cmp\w*|max)ph"]),
    (UnaryOp.kSquare, T.kFloat16, T.kFloat16, [FROM_HALF, r"v?mulps", TO_HALF] if CONVERTS else [r"vmulph"]),
    (UnaryOp.kRelu, T.kBFloat16, T.kBFloat16, [r"v?pcmpgtw"]),
    (UnaryOp.kSquare, T.kBFloat16, T.kBFloat16, [r"v?pslld", r"v?mulps", r"v?psrld"]),
    (BinaryOp.kAdd, T.kFloat, T.kFloat, [r"v?addps"]),
    (BinaryOp.kAdd, T.kDouble, T.kDouble, [r"v?addpd"]),
    (BinaryOp.kAdd, T.kInt8, T.kInt8, [r"v?paddb"]),
    (BinaryOp.kAdd, T.kFloat16, T.kFloat16, [FROM_HALF, r"v?addps", TO_HALF] if CONVERTS else [r"vaddph"]),
    (BinaryOp.kLessThan, T.kInt32, T.kBool, [r"v?pcmp\w*d"]),
]
IN_FLOAT = [
    *(UnaryOp.kSoftSign, UnaryOp.kHardSwish, UnaryOp.kLeakyRelu, UnaryOp.kReciprocal, UnaryOp.kSqrt, UnaryOp.kRint),
    *(BinaryOp.kDiv, BinaryOp.kFloorMod, BinaryOp.kIsClose, BinaryOp.kTanhBackwardWithDyY),
]
VECTORISED = [
    *(UnaryOp.kElu, UnaryOp.kCelu, UnaryOp.kSelu),
    *(op for op in UnaryOp if op.name[1:].lower() in {name.replace("_", "") for name in FLOAT64}),
    *(BinaryOp.kLgammaBackwardWithDyX, BinaryOp.kDigammaBackwardWithDyX),
    *(BinaryOp.kPow, BinaryOp.kGeluBackwardWithDyX, BinaryOp.kSoftplusBackwardWithDyX, BinaryOp.kSiluBackwardWithDyX),
]
DOUBLE_ARITHMETIC = r"\tv?(?:add|sub|mul|div|sqrt|max|min|rndscale|round|rcp\d*|rsqrt\d*|fn?m(?:add|sub)\d*)[sp]d\t"


def dst_type(op):
    return T.kBool if op is BinaryOp.kIsClose else T.kFloat


@pytest.fixture(scope="module")
def kernel():
    """Yield a function that returns the assembly and optimised LLVM code of a kernel, which one process compiles."""
    with answering(COMPILE) as answer:
        yield cache(lambda op, src, dst: json.loads(answer(f"{type(op).__name__} {op.name} {src.name} {dst.name}")))


def innermost_loops(assembly):
    """Return the instructions of each loop without another one inside: from a label to a jump back to it."""
    lines = assembly.splitlines()
    labels = {line[:-1]: place for place, line in enumerate(lines) if re.fullmatch(r"\.LBB\w+:", line)}
    loops = []
    for place, line in enumerate(lines):
        jump = re.fullmatch(r"\t(?:j\w+|b\.\w+)\t(\.LBB\w+)", line)  # of x86-64, and of AArch64
        if jump and labels[jump[1]] < place:
            loops.append((labels[jump[1]], place))
    inner = [
        one
        for one in loops
        if not any(one[0] <= start and end <= one[1] for start, end in loops if (start, end) != one)
    ]
    return ["\n".join(lines[start : end + 1]) + "\n" for start, end in inner]


@pytest.mark.parametrize(
    ("op", "src", "dst", "instructions"), PACKED, ids=[f"{op.name}-{src.name}" for op, src, *_ in PACKED]
)
def test_loops_are_packed(kernel, op, src, dst, instructions):
    if FROM_HALF in instructions and not FEATURES.get("f16c"):
        pytest.skip("this processor cannot convert float16")
    assembly, code = kernel(op, src, dst)
    packed = [
        loop for loop in innermost_loops(assembly) if all(re.search(rf"\t{i}\t.*[xyz]mm", loop) for i in instructions)
    ]
    assert packed
    assert not any("call" in loop for loop in packed)
    # one loop if both operands vary along the row; two more if one of them is a single element
    ways = 3 if isinstance(op, BinaryOp) else 1
    assert len(re.findall(r"^vector\.body[\w.]*:", code, re.MULTILINE)) >= ways


@pytest.mark.parametrize("data_type", [T.kFloat, T.kDouble, T.kFloat16, T.kBFloat16], ids=lambda t: t.name)
def test_relu_calls_nothing(kernel, data_type):
    assembly, _ = kernel(UnaryOp.kRelu, data_type, data_type)
    assert "retq" in assembly
    assert "call" not in assembly


@pytest.mark.parametrize("op", IN_FLOAT, ids=lambda op: op.name)
def test_float_is_computed_in_float(kernel, op):
    """Only the attributes are float64; they are converted to float32 once for all elements."""
    assembly, _ = kernel(op, T.kFloat, dst_type(op))
    assert not re.findall(DOUBLE_ARITHMETIC, assembly)


@pytest.mark.parametrize("data_type", [T.kFloat, T.kDouble], ids=lambda t: t.name)
@pytest.mark.parametrize("op", VECTORISED, ids=lambda op: op.name)
def test_elementary_functions_are_packed(kernel, op, data_type):
    """Each kind of loop has packed multiply-adds and no calls; some float32 ops compute in float64."""
    assembly, _ = kernel(op, data_type, data_type)
    single = is_single(op, data_type)
    assert not (single and any(re.findall(DOUBLE_ARITHMETIC, loop) for loop in innermost_loops(assembly)))
    instruction = r"\tvfn?m(?:add|sub)\d+ps\t.*[yz]mm" if single else r"\tvfn?m(?:add|sub)\d+pd\t.*[yz]mm"
    packed = [loop for loop in innermost_loops(assembly) if len(re.findall(instruction, loop)) >= 2]
    # with one x for all dy, the loop does not compute the function of x
    assert len(packed) >= (2 if isinstance(op, BinaryOp) else 1)
    assert not any("call" in loop for loop in packed)


BY_TABLES = [UnaryOp.kExp, UnaryOp.kLog1p, UnaryOp.kAtanh, UnaryOp.kQuickGelu, UnaryOp.kSigmoid, UnaryOp.kSilu]


@pytest.mark.skipif(not has_register_tables(), reason="needs AVX-512")
@pytest.mark.parametrize("op", BY_TABLES, ids=lambda op: op.name)
def test_tables_of_float64_are_in_registers(kernel, op):
    assembly, _ = kernel(op, T.kDouble, T.kDouble)
    packed = [loop for loop in innermost_loops(assembly) if re.search(r"\tvfn?m(?:add|sub)\d+pd\t.*zmm", loop)]
    assert packed
    for loop in packed:
        assert re.search(r"\tvperm[it]2pd\t", loop)
        assert "call" not in loop


def test_roots_need_no_slow_instruction(kernel):
    assembly, _ = kernel(UnaryOp.kRsqrt, T.kDouble, T.kDouble)
    packed = [loop for loop in innermost_loops(assembly) if re.search(r"\tvfn?m(?:add|sub)\d+pd\t", loop)]
    assert packed
    assert not any(re.search(r"\tv?(?:div|sqrt)[sp]d\t", loop) for loop in packed)


def test_double_arithmetic_would_be_found(kernel):
    assembly, _ = kernel(BinaryOp.kAdd, T.kDouble, T.kDouble)
    assert re.findall(DOUBLE_ARITHMETIC, assembly)
