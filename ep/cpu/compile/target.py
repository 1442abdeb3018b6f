"""The processor that kernels are compiled for: the instructions that they need, and the width of its data paths."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from typing import Final

import llvmlite.binding as llvm
from numba.core.registry import cpu_target

from ep.common.environment import NUMBA_CPU_FEATURES, NUMBA_CPU_NAME
from ep.cpu.machine.processor import NEEDED
from ep.include.errors import DeviceUnavailableError, EnvironmentVariableError

# LLVM does not list the instructions of a named processor. Without instructions for these two, it emits library calls
_PROGRAM: Final = """
declare double @llvm.fma.f64(double, double, double)

define double @fused(double %a, double %b, double %c) {
  %result = call double @llvm.fma.f64(double %a, double %b, double %c)
  ret double %result
}

define float @converted(i16 %bits) {
  %half = bitcast i16 %bits to half
  %result = fpext half %half to float
  ret float %result
}
"""


def has_instructions(triple: str, name: str, features: str) -> bool:
    """Return whether LLVM has instructions for fused multiply-add and float16 on this x86-64 processor."""
    llvm.initialize_native_asmparser()
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=name, features=features)
    return not re.search(r"\b(call|jmp)", machine.emit_assembly(llvm.parse_assembly(_PROGRAM)))


def _of_this_processor(features: str, *needed: str) -> bool:
    """Return whether kernels may use all instructions of this processor, and it has those of the features `needed`.

    Then LLVM uses them: it need not be tried, which takes as long as loading ten kernels.
    """
    if not features:  # Numba does not know them either
        return False
    own = llvm.get_host_cpu_features()
    return features == own.flatten() and all(own.get(name) for name in needed)


def check_target() -> None:
    """Raise if kernels would be compiled for a processor that they cannot run on.

    Raises EnvironmentVariableError if a variable names the processor or its instructions, else DeviceUnavailableError.
    """
    triple, name, features = cpu_target.target_context.codegen().magic_tuple()
    llvm.initialize_native_asmparser()
    if not triple.startswith("x86") or _of_this_processor(features, "fma", "f16c"):
        return
    if has_instructions(triple, name, features):
        return
    set_ = [variable for variable in (NUMBA_CPU_NAME, NUMBA_CPU_FEATURES) if variable.text() is not None]
    if set_:
        given = " and ".join(f"{variable.name} is {variable.text()!r}" for variable in set_)
        raise EnvironmentVariableError(f"{given}; it must be {NEEDED}")
    raise DeviceUnavailableError(f"there is no CPU device: it needs {NEEDED}; {name} has not both")


def has_avx512() -> bool:
    """Return whether kernels are compiled for a processor with AVX-512 for elements of all sizes, as servers have."""
    triple, _, features = cpu_target.target_context.codegen().magic_tuple()
    return triple.startswith("x86_64") and {"+avx512f", "+avx512bw", "+avx512dq"} <= {*features.split(",")}


def is_aarch64() -> bool:
    """Return whether kernels are compiled for a 64-bit Arm processor, all of which have NEON."""
    return cpu_target.target_context.codegen().magic_tuple()[0].startswith(("aarch64-", "arm64-"))


_OF_INTEGERS: Final = """
define <8 x i32> @added(<8 x i32> %a, <8 x i32> %b) {
  %result = add <8 x i32> %a, %b
  ret <8 x i32> %result
}
"""


@cache
def has_avx2() -> bool:
    """Return whether kernels are compiled for a processor with AVX2: LLVM adds 8 integers in one register then."""
    triple, name, features = cpu_target.target_context.codegen().magic_tuple()
    if not triple.startswith("x86_64"):
        return False
    if _of_this_processor(features, "avx2"):
        return True
    llvm.initialize_native_asmparser()
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=name, features=features)
    return bool(re.search(r"vpaddd\b.*%ymm", machine.emit_assembly(llvm.parse_assembly(_OF_INTEGERS))))


# CPUID's bits about the data paths; 0 if CPUID does not report them
_DATA_PATHS: Final = """
define i32 @data_paths() {
  %most = call { i32, i32, i32, i32 } asm "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}"(i32 u0x80000000, i32 0)
  %leaf = extractvalue { i32, i32, i32, i32 } %most, 0
  %known = icmp uge i32 %leaf, u0x8000001A
  br i1 %known, label %ask, label %unknown

ask:
  %said = call { i32, i32, i32, i32 } asm "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}"(i32 u0x8000001A, i32 0)
  %word = extractvalue { i32, i32, i32, i32 } %said, 0
  ret i32 %word

unknown:
  ret i32 0
}
"""
_HALF_PATHS, _WHOLE_PATHS = 1 << 2, 1 << 3  # 256 bits wide, and 512


@cache
def _data_paths() -> int:
    """Return CPUID's bits about the data paths: AMD's processors report them, Intel's do not."""
    triple = cpu_target.target_context.codegen().magic_tuple()[0]
    if not triple.startswith("x86"):
        return 0
    llvm.initialize_native_asmparser()
    machine = llvm.Target.from_triple(triple).create_target_machine()
    with llvm.create_mcjit_compiler(llvm.parse_assembly(_DATA_PATHS), machine) as engine:
        return int(ctypes.CFUNCTYPE(ctypes.c_uint32)(engine.get_function_address("data_paths"))())


def moves_halves() -> bool:
    """Return whether this processor reports that it moves a vector of 512 bits as two halves."""
    return _data_paths() & (_HALF_PATHS | _WHOLE_PATHS) == _HALF_PATHS


def converts_on_adders() -> bool:
    """Return whether this processor converts numbers on the units that add, and multiplies on others: AMD's do."""
    return _data_paths() != 0


def multiplies_pairs() -> bool:
    """Return whether instructions that add two products of bfloat16 to a sum take less time than two fused ones.

    On AMD's processors they take the time of one: on a core of a Zen 5, tiles reach 533 GFLOP/s, and 266 in float32. On
    an Intel Xeon they reached 86, and 176 in float32.
    """
    features = cpu_target.target_context.codegen().magic_tuple()[2].split(",")
    return has_avx512() and "+avx512bf16" in features and converts_on_adders()


def adds_more_in_halves() -> bool:
    """Return whether vectors of 256 bits are added on one more unit than those of 512.

    Intel's processors have this unit since they have AVX-512 FP16: three vectors of 256 bits are converted and added
    in the time of one of 512.
    """
    features = cpu_target.target_context.codegen().magic_tuple()[2].split(",")
    return "+avx512fp16" in features and not converts_on_adders()
