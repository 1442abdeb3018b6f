"""Tables of a few constants in vector registers. One instruction looks up an entry for every lane.

LLVM's loop vectoriser has no such instruction. But it supports scalar functions with a twin for vectors: the look-up is
a function whose attribute names its twin, which uses the processor's permutation. The twin is inlined after the loops
of a kernel are vectorised (`libraries.py`); only the remainder of a loop calls the scalar function.

AVX-512 permutes two registers, AVX2 one. So there are large tables, for processors with AVX-512 alone, and small ones
of float32, for every processor. AArch64 looks up bytes in two of its registers, which hold a small table. On x86-64
without AVX2, each lane reads its entry from memory.
"""

from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from typing import Any, Final, TypeVar

import numpy as np
from llvmlite import ir

from ep.common.native.emitted import Emitted, emitted
from ep.cpu.compile.target import has_avx2, is_aarch64, of_kernels
from ep.cpu.compile.vector import vector
from ep.cpu.compile.vectors import BYTE, DOUBLE, FLOAT, INT, WORD, call
from ep.include.data_type import DataType

Entry = TypeVar("Entry", bound=np.floating)
Table = Emitted[Entry]

NUM_SMALL: Final = 8
"""The number of entries of a small table: those of a register of AVX2."""

_VECTOR_BITS = 512
_PERMUTATIONS = {4: "llvm.x86.avx512.vpermi2var.ps.512", 8: "llvm.x86.avx512.vpermi2var.pd.512"}
_SMALL_PERMUTATION = "llvm.x86.avx2.permps"
_BYTES_LOOKED_UP = "llvm.aarch64.neon.tbl2.v16i8"
_LANES_OF_AARCH64: Final = 4
_USED = "llvm.compiler.used"


@cache
def has_register_tables() -> bool:
    """Return whether the processor has large tables: AVX-512 has permutations of two registers."""
    return of_kernels().is_x86_64 and of_kernels().has("avx512f", "avx512dq")


def num_entries(real_type: type[np.floating]) -> int:
    """Return the number of entries of a large table: those of two registers."""
    return 2 * _VECTOR_BITS // (8 * np.dtype(real_type).itemsize)


def table(values: Sequence[float], real_type: type[Entry]) -> Table[Entry]:
    """Return a function for compiled code that looks up one of `values` by an index, an integer as wide as `real_type`.

    Only the lowest bits of the index are used, as many as are needed to number the entries.
    """
    entries = np.asarray(values, real_type)
    is_single = real_type is np.float32
    expected = [*[NUM_SMALL] * is_single, num_entries(real_type)]
    if entries.ndim != 1 or entries.size not in expected:
        raise ValueError(f"values: {len(values)} entries, expected {' or '.join(map(str, expected))}")
    numba_type, index_type = ("float32", "int32") if is_single else ("float64", "int64")

    @emitted(numba_type, index=index_type)
    def look_up(builder: Any, index: Any) -> Any:
        stored = _stored(builder.module, entries)
        return builder.call(_function(builder.module, stored), [index, stored])

    return look_up


def _stored(module: Any, entries: Any) -> Any:
    """Return the address of a table in `module`; the same table has the same name everywhere."""
    name = f"ep.table.{entries.dtype.name}.{sha256(entries.tobytes()).hexdigest()[:16]}"
    if name in module.globals:
        return module.globals[name]
    real = FLOAT if entries.itemsize == 4 else DOUBLE
    constants = ir.Constant(ir.ArrayType(real, entries.size), entries.tolist())
    stored = ir.GlobalVariable(module, constants.type, name)
    stored.global_constant, stored.linkage, stored.initializer = True, "linkonce_odr", constants
    stored.align = _VECTOR_BITS // 8
    return stored


def _function(module: Any, stored: Any) -> Any:
    """Return the scalar function (index, address) in `module` of all tables with the type of `stored`."""
    address, real, count = stored.type, stored.value_type.element, stored.value_type.count
    small = real is FLOAT and count == NUM_SMALL
    integer, lanes = INT if real is FLOAT else WORD, count if small else count // 2
    if small and is_aarch64():
        lanes = _LANES_OF_AARCH64
    vector, indices = ir.VectorType(real, lanes), ir.VectorType(integer, lanes)

    def scalar(builder: Any, index: Any, table: Any) -> Any:
        place = builder.and_(index, integer(count - 1))
        return builder.load(builder.gep(table, [WORD(0), place], inbounds=True))

    def packed(builder: Any, index: Any, table: Any) -> Any:
        first = builder.bitcast(table, vector.as_pointer())
        registers = [builder.load(builder.gep(first, [WORD(place)])) for place in range(count // lanes)]
        for register in registers:
            register.set_metadata("invariant.load", builder.module.add_metadata([]))
        if lanes == _LANES_OF_AARCH64:
            return _looked_up_bytes(builder, registers, index)
        if small:
            return call(builder, _SMALL_PERMUTATION, vector, *registers, index)
        return _permuted(builder, registers, index)

    name = f"ep.look_up.{real}.{count}"
    if small and not (has_avx2() or is_aarch64()):
        return _new_function(module, name, real, [integer, address], "alwaysinline", scalar)
    return with_twin(module, name, vector, [indices, address], scalar, packed)


def table_of_vectors(entries: Any) -> Any:
    """Return the same function of vectors of 64 bytes, whose lanes are unsigned integers, for a large table."""
    lanes, single = len(entries) // 2, entries.itemsize == 4
    Row = vector(DataType.kFloat if single else DataType.kDouble, lanes)
    Indices = vector(DataType.kUInt32 if single else DataType.kUInt64, lanes)

    @emitted(Row.item_type, index=Indices.item_type)
    def look_up(builder: Any, index: Any) -> Any:
        halves = [ir.Constant(Row.llvm_type, half.tolist()) for half in np.split(entries, 2)]
        return _permuted(builder, halves, index)

    return look_up


def _permuted(builder: Any, halves: Sequence[Any], index: Any) -> Any:
    vector = halves[0].type
    name = _PERMUTATIONS[4 if vector.element is FLOAT else 8]
    return call(builder, name, vector, halves[0], index, halves[1])


def _looked_up_bytes(builder: Any, halves: Sequence[Any], index: Any) -> Any:
    """Return an entry of 4 bytes for every lane: each of its bytes is looked up by a number of its own."""
    vector, of_bytes = halves[0].type, ir.VectorType(BYTE, 4 * len(halves[0].type))

    def same(number: int) -> Any:
        return ir.Constant(index.type, [number] * len(index.type))

    entry = builder.and_(index, same(NUM_SMALL - 1))
    numbers = builder.add(builder.mul(entry, same(0x04040404)), same(0x03020100))
    read = [builder.bitcast(one, of_bytes) for one in (*halves, numbers)]
    return builder.bitcast(call(builder, _BYTES_LOOKED_UP, of_bytes, *read), vector)


def with_twin(
    module: Any,
    name: str,
    result: Any,
    arguments: Sequence[Any],
    scalar: Callable[..., Any],
    packed: Callable[..., Any],
) -> Any:
    """Return the function `name` in `module`, which LLVM vectorises by its twin. Makes it if it is missing.

    result, arguments: the types of the twin; of vectors, the function itself has the elements. Arguments of other types
        are the same for all lanes.
    scalar, packed: (builder, *arguments) write the two functions and return their results.
    """
    if name in module.globals:
        return module.globals[name]
    is_vector = [isinstance(one, ir.VectorType) for one in arguments]
    singles = [one.element if vector else one for one, vector in zip(arguments, is_vector, strict=True)]
    function = _new_function(module, name, result.element, singles, "noinline", scalar)
    twin = _new_function(module, f"{name}.vector", result, arguments, "alwaysinline", packed)
    # llvmlite does not support attributes with values
    kinds = "".join("v" if vector else "u" for vector in is_vector)
    variant = f"_ZGV_LLVM_N{result.count}{kinds}_{name}({twin.name})"
    set.add(function.attributes, f'"vector-function-abi-variant"="{variant}"')
    _keep(module, twin)
    return function


def _new_function(
    module: Any, name: str, result: Any, arguments: Sequence[Any], inline: str, body: Callable[..., Any]
) -> Any:
    """Return a function without side effects, the same in every module. Makes it if it is missing."""
    if name in module.globals:
        return module.globals[name]
    function = ir.Function(module, ir.FunctionType(result, arguments), name)
    function.linkage = "linkonce_odr"
    for attribute in (inline, "nounwind", "readnone"):
        function.attributes.add(attribute)
    set.add(function.attributes, "willreturn")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(body(builder, *function.args))
    return function


def _keep(module: Any, function: Any) -> None:
    """Keep LLVM from dropping `function`, which nothing calls before loops are vectorised."""
    byte = BYTE.as_pointer()
    used, kept = module.globals.get(_USED), [function.bitcast(byte)]
    if used is not None:
        kept = [*used.initializer.constant, *kept]
    array = ir.Constant(ir.ArrayType(byte, len(kept)), kept)
    if used is None:
        used = ir.GlobalVariable(module, array.type, _USED)
        used.linkage, used.section = "appending", "llvm.metadata"
    used.value_type, used.type, used.initializer = array.type, array.type.as_pointer(), array
