"""The processor that kernels are compiled for: whether it has the instructions that they need."""

from __future__ import annotations

from typing import Final

import llvmlite.binding as llvm
from numba.core.registry import cpu_target

from ep.common.environment import NUMBA_CPU_FEATURES, NUMBA_CPU_NAME
from ep.cpu.processor import NEEDED
from ep.include.errors import DeviceUnavailableError, EnvironmentVariableError

# LLVM does not tell what a named processor has: its code for these does
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


def check_target() -> None:
    """Raise where kernels would be compiled for a processor that they cannot run on.

    EnvironmentVariableError where a variable names the processor or its instructions, else DeviceUnavailableError.
    """
    triple, name, features = cpu_target.target_context.codegen().magic_tuple()
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=name, features=features)
    code = machine.emit_assembly(llvm.parse_assembly(_PROGRAM))
    if not triple.startswith("x86") or ("vfmadd" in code and "vcvtph2ps" in code):
        return
    set_ = [variable for variable in (NUMBA_CPU_NAME, NUMBA_CPU_FEATURES) if variable.text() is not None]
    if set_:
        given = " and ".join(f"{variable.name} is {variable.text()!r}" for variable in set_)
        raise EnvironmentVariableError(f"{given}; it must be {NEEDED}")
    raise DeviceUnavailableError(f"there is no CPU device: it needs {NEEDED}; {name} has not both")
