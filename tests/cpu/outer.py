"""Functions that Python calls, compiled as kernels are, so that tests see what compiled code computes."""

from typing import Any, Final

from llvmlite.binding import add_symbol
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import register_pass

from ep.common.native import machine_code
from ep.cpu.compile import lowering
from ep.cpu.compile.jit import OPTIONS
from ep.cpu.compile.libraries import KernelLibrary
from ep.cpu.compile.llvm import optimised


class _Library(KernelLibrary):
    """The library of a kernel that Numba links."""

    def finalize(self) -> None:
        super().finalize()
        for name, address in machine_code._own.items():
            add_symbol(name, address)
        module, engine = optimised(self.job()), self.codegen._engine
        engine.add_module(module)
        self.codegen._scan_and_fix_unresolved_refs(module)
        engine.finalize_object()

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return self.codegen._engine.get_function_address(name)


class _Outer(lowering._pipeline(lowering._WideVectors, _Library)):
    """The pipeline of a kernel, which makes a Python function of it in the end."""

    def compile_extra(self, func: Any) -> Any:
        return CompilerBase.compile_extra(self, func)  # not from its syntax tree: that makes no Python function

    def define_pipelines(self) -> Any:
        (passes,) = super().define_pipelines()
        passes.passes = [(_called(one) if one.__name__ == "Lowering" else one, text) for one, text in passes.passes]
        return [passes]


def _called(lowering_pass: Any) -> Any:
    @register_pass(mutates_CFG=False, analysis_only=False)
    class Called(lowering_pass):
        _name = f"{lowering_pass._name}_called"

        def run_pass(self, state: Any) -> bool:
            super().run_pass(state)
            lowered = state["cr"]
            function = state.targetctx.get_executable(state.library, lowered.fndesc, lowered.env)
            state["cr"] = lowered._replace(cfunc=function)
            return True

    return Called


OUTER: Final[dict[str, Any]] = {**OPTIONS, "pipeline_class": _Outer}
"""The options of a function that Python calls: everything that it calls becomes part of its machine code."""
