"""Tables of a few constants in vector registers. One instruction looks up an entry for every lane.

LLVM's loop vectoriser has no such instruction. But it supports scalar functions with a twin for vectors: the look-up is
a function whose attribute names its twin, which uses the processor's permutation. The twin is inlined after the loops
of a kernel are vectorised (`libraries.py`); only the remainder of a loop calls the scalar function.
"""

from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.registry import cpu_target

from ep.common.native.emitted import emitted
from ep.cpu.compile.vectors import BYTE, DOUBLE, FLOAT, WORD, call

_VECTOR_BITS = 512
_PERMUTATIONS = {4: "llvm.x86.avx512.vpermi2var.ps.512", 8: "llvm.x86.avx512.vpermi2var.pd.512"}
_USED = "llvm.compiler.used"


@cache
def has_register_tables() -> bool:
    """Return whether the processor looks up entries in registers: AVX-512 has permutations of two registers."""
    triple, _, features = cpu_target.target_context.codegen().magic_tuple()
    return triple.startswith("x86_64") and "+avx512f" in features and "+avx512dq" in features


def num_entries(real_type: type[np.floating]) -> int:
    """Return the number of entries of a table: those of two registers."""
    return 2 * _VECTOR_BITS // (8 * np.dtype(real_type).itemsize)


def table(values: Sequence[float], real_type: type[np.floating]) -> Any:
    """Return a function for compiled code that looks up one of `values` by an index, an integer as wide as `real_type`.

    Only the lowest bits of the index are used, as many as are needed to number the entries.
    """
    entries = np.asarray(values, real_type)
    if entries.shape != (num_entries(real_type),):
        raise ValueError(f"values: {len(values)} entries, expected {num_entries(real_type)}")
    is_single = real_type is np.float32
    numba_type, index_type = (types.float32, types.int32) if is_single else (types.float64, types.int64)

    @emitted(numba_type, index=index_type)
    def look_up(builder: Any, index: Any) -> Any:
        return builder.call(_function(builder.module, entries), [index])

    return look_up


def _function(module: Any, entries: Any) -> Any:
    """Return the scalar function of a table in `module`; the same table has the same name everywhere."""
    name = f"ep.table.{entries.dtype.name}.{sha256(entries.tobytes()).hexdigest()[:16]}"
    real = FLOAT if entries.itemsize == 4 else DOUBLE
    integer, lanes = ir.IntType(8 * entries.itemsize), len(entries) // 2
    vector, indices = ir.VectorType(real, lanes), ir.VectorType(integer, lanes)

    def scalar(builder: Any, index: Any) -> Any:
        constants = ir.Constant(ir.ArrayType(real, len(entries)), [float(entry) for entry in entries])
        stored = ir.GlobalVariable(module, constants.type, f"{name}.entries")
        stored.global_constant, stored.linkage, stored.initializer = True, "linkonce_odr", constants
        place = builder.and_(index, integer(len(entries) - 1))
        return builder.load(builder.gep(stored, [WORD(0), place], inbounds=True))

    def packed(builder: Any, index: Any) -> Any:
        return looked_up(builder, entries, index)

    return with_twin(module, name, vector, [indices], scalar, packed)


def looked_up(builder: Any, entries: Any, index: Any) -> Any:
    """Return an entry for every lane of the vector `index`. entries: an array of `num_entries` entries."""
    real = FLOAT if entries.itemsize == 4 else DOUBLE
    vector = ir.VectorType(real, len(entries) // 2)
    halves = [ir.Constant(vector, [float(entry) for entry in half]) for half in np.split(entries, 2)]
    return call(builder, _PERMUTATIONS[entries.itemsize], vector, halves[0], index, halves[1])


def with_twin(
    module: Any,
    name: str,
    result: Any,
    arguments: Sequence[Any],
    scalar: Callable[..., Any],
    packed: Callable[..., Any],
) -> Any:
    """Return the function `name` in `module`, which LLVM vectorises by its twin. Makes it if it is missing.

    result, arguments: the vectors of the twin; the function itself has their elements.
    scalar, packed: (builder, *arguments) write the two functions and return their results.
    """
    if name in module.globals:
        return module.globals[name]
    function = _new_function(module, name, result.element, [one.element for one in arguments], "noinline")
    twin = _new_function(module, f"{name}.vector", result, arguments, "alwaysinline")
    for one, body in ((function, scalar), (twin, packed)):
        builder = ir.IRBuilder(one.append_basic_block())
        builder.ret(body(builder, *one.args))
    # llvmlite does not support attributes with values
    variant = f"_ZGV_LLVM_N{result.count}{'v' * len(arguments)}_{name}({twin.name})"
    set.add(function.attributes, f'"vector-function-abi-variant"="{variant}"')
    _keep(module, twin)
    return function


def _new_function(module: Any, name: str, result: Any, arguments: Sequence[Any], inline: str) -> Any:
    """Return an empty function without side effects; it is the same in every module."""
    function = ir.Function(module, ir.FunctionType(result, arguments), name)
    function.linkage = "linkonce_odr"
    for attribute in (inline, "nounwind", "readnone"):
        function.attributes.add(attribute)
    set.add(function.attributes, "willreturn")
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
