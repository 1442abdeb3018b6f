"""Operations in each rounding mode. For every mode but to nearest, a function changes the mode."""

from __future__ import annotations

from typing import Final

from tests.cuda.ptx_machine.code import Code, Value

_LLVM_MODES: Final = {"rz": 0, "rn": 1, "rp": 2, "rm": 3}
_PLAIN: Final = ("fadd", "fsub", "fmul", "fdiv")
_SUFFIXES: Final = {"float": "f32", "double": "f64"}


def rounded(code: Code, operation: str, mode: str, type: str, *values: Value) -> Value:
    """Return the result of fadd, fsub, fmul, fdiv, fma, sqrt, fptrunc, sitofp or uitofp.

    type: LLVM's, of the result.
    """
    if mode != "rn":
        return code.call(type, _directed(code, operation, mode, type, values), *values)
    if operation in _PLAIN:
        return code.binary(operation, *values)
    if operation in ("fma", "sqrt"):
        return code.intrinsic(operation, *values)
    return code.convert(operation, values[0], type)


def _directed(code: Code, operation: str, mode: str, type: str, values: tuple[Value, ...]) -> str:
    """Return the function that computes in one rounding mode; define it if necessary."""
    given = values[0].type
    name = f"{operation}.{mode}.{type}.{given}"
    module = code.module
    if name in module.defined:
        return name
    overloads = _SUFFIXES[type] + ("" if given == type else f".{_SUFFIXES.get(given, given)}")
    intrinsic = f"llvm.experimental.constrained.{operation}.{overloads}"
    types = ", ".join([given] * len(values))
    parameters = ", ".join(f"{given} %a{place}" for place in range(len(values)))
    module.declared[intrinsic] = f"declare {type} @{intrinsic}({types}, metadata, metadata)"
    module.declared["llvm.set.rounding"] = "declare void @llvm.set.rounding(i32)"
    module.defined.add(name)
    # noinline: in the code around it, LLVM assumes rounding to nearest
    module.functions.append(
        f"define internal {type} @{name}({parameters}) noinline strictfp nounwind {{\n"
        f"call void @llvm.set.rounding(i32 {_LLVM_MODES[mode]}) strictfp\n"
        f"%result = call {type} @{intrinsic}({parameters}, "
        'metadata !"round.dynamic", metadata !"fpexcept.ignore") strictfp\n'
        f"call void @llvm.set.rounding(i32 {_LLVM_MODES['rn']}) strictfp\n"
        f"ret {type} %result\n}}\n"
    )
    return name
