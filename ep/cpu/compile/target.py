"""The processor that kernels are compiled for: the instructions that they need, and the width of its data paths."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from ep.common.environment import NUMBA_CPU_FEATURES, NUMBA_CPU_NAME
from ep.common.native.on_demand import binding
from ep.common.native.target import Target, llvm_target, target
from ep.cpu.machine.kernel_cache import CACHE
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
    return not re.search(r"\b(call|jmp)", _compiled(_PROGRAM, triple, name, features))


def _compiled(program: str, triple: str, name: str, features: str) -> str:
    machine = llvm_target(triple).create_target_machine(cpu=name, features=features)
    assembly: str = machine.emit_assembly(binding.parse_assembly(program))
    return assembly


@cache
def of_kernels() -> Target:
    """Return the target of all kernels of this process."""
    return target(CACHE)


def check_target() -> None:
    """Raise if kernels would be compiled for a processor that they cannot run on.

    Raises EnvironmentVariableError if a variable names the processor or its instructions, else DeviceUnavailableError.
    """
    of = of_kernels()
    # LLVM uses all instructions of its own processor: it need not be tried, which takes as long as loading ten kernels
    if not of.triple.startswith("x86") or (of.is_own and of.has("fma", "f16c")):
        return
    if has_instructions(of.triple, of.processor, of.features):
        return
    set_ = [variable for variable in (NUMBA_CPU_NAME, NUMBA_CPU_FEATURES) if variable.text() is not None]
    if set_:
        given = " and ".join(f"{variable.name} is {variable.text()!r}" for variable in set_)
        raise EnvironmentVariableError(f"{given}; it must be {NEEDED}")
    raise DeviceUnavailableError(f"there is no CPU device: it needs {NEEDED}; {of.processor} has not both")


def has_avx512() -> bool:
    """Return whether kernels are compiled for a processor with AVX-512 for elements of all sizes, as servers have."""
    return of_kernels().is_x86_64 and of_kernels().has("avx512f", "avx512bw", "avx512dq")


def is_aarch64() -> bool:
    """Return whether kernels are compiled for a 64-bit Arm processor, all of which have NEON."""
    return of_kernels().triple.startswith(("aarch64-", "arm64-"))


_OF_INTEGERS: Final = """
define <8 x i32> @added(<8 x i32> %a, <8 x i32> %b) {
  %result = add <8 x i32> %a, %b
  ret <8 x i32> %result
}
"""


@cache
def has_avx2() -> bool:
    """Return whether kernels are compiled for a processor with AVX2: LLVM adds 8 integers in one register then."""
    of = of_kernels()
    if not of.is_x86_64 or of.is_own:
        return of.is_x86_64 and of.has("avx2")
    return bool(re.search(r"vpaddd\b.*%ymm", _compiled(_OF_INTEGERS, of.triple, of.processor, of.features)))


_HALF_PATHS, _WHOLE_PATHS = 1 << 2, 1 << 3  # 256 bits wide, and 512


def moves_halves() -> bool:
    """Return whether this processor reports that it moves a vector of 512 bits as two halves."""
    return of_kernels().data_paths & (_HALF_PATHS | _WHOLE_PATHS) == _HALF_PATHS


def vector_width(light: bool) -> str:
    """Return the function attribute that sets LLVM's preferred vector width.

    The width is 512 bits if the processor has such vectors; LLVM by itself prefers 256 on Intel's.
    light: whether the loop is bound by memory alone. It then uses 256 bits on processors with 256-bit data paths (Zen
        4), where such vectors move 10 to 30% more data between the caches.
    """
    return f'"prefer-vector-width"="{256 if light and moves_halves() else 512}"'


def converts_on_adders() -> bool:
    """Return whether this processor converts numbers on the units that add, and multiplies on others: AMD's do."""
    return of_kernels().data_paths != 0


def multiplies_pairs() -> bool:
    """Return whether instructions that add two products of bfloat16 to a sum take less time than two fused ones.

    On AMD's processors they take the time of one: on a core of a Zen 5, tiles reach 533 GFLOP/s, and 266 in float32. On
    an Intel Xeon they reached 86, and 176 in float32.
    """
    return has_avx512() and of_kernels().has("avx512bf16") and converts_on_adders()


def multiplies_quads(lanes: int) -> bool:
    """Return whether an instruction adds four products of bytes to each of so many 32-bit sums."""
    of = of_kernels()
    return of.has("avx512vnni", "avx512vl") or (lanes == 8 and of.has("avxvnni"))


def multiplies_words() -> bool:
    """Return whether an instruction multiplies the 64-bit integers of vectors, or those of 32 bits are multiplied no
    faster: without AVX-512, x86 has instructions for 32 bits alone."""
    return not of_kernels().is_x86_64 or has_avx512()


def adds_more_in_halves() -> bool:
    """Return whether vectors of 256 bits are added on one more unit than those of 512.

    Intel's processors have this unit since they have AVX-512 FP16: three vectors of 256 bits are converted and added
    in the time of one of 512.
    """
    return of_kernels().has("avx512fp16") and not converts_on_adders()
