"""How kernels become LLVM's code, where Numba has no option for it."""

from typing import Any

from llvmlite import ir as llvm
from numba.core import compiler, ir, lowering
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

_INTERLEAVED = 4  # vectors at a time


class _WideVectors(lowering.Lower):
    """Lets LLVM use vectors of 512 bits where the processor has them: it prefers half of that on Intel's."""

    def pre_lower(self) -> None:
        super().pre_lower()
        set.add(self.function.attributes, '"prefer-vector-width"="512"')  # llvmlite knows no attributes with values


class _Interleaved(_WideVectors):
    """Marks the jump back of every loop: what is vectorised is so several vectors at a time."""

    def lower_inst(self, inst: Any) -> None:
        super().lower_inst(inst)
        if isinstance(inst, ir.Jump) and self.blkmap[inst.target].is_terminated:
            self.builder.block.terminator.set_metadata("llvm.loop", _interleave(self.module))


def _interleave(module: Any) -> Any:
    count = module.add_metadata(["llvm.loop.interleave.count", llvm.Constant(llvm.IntType(32), _INTERLEAVED)])
    loop = module.add_metadata([f"loop {len(module.metadata)}"])
    loop.operands = (loop, count)  # the identity of a loop is a node that refers to itself
    return loop


def _pipeline(lower: type[lowering.Lower]) -> type[compiler.CompilerBase]:
    """Numba's pipeline for compiled code, with another class that lowers."""

    @register_pass(mutates_CFG=True, analysis_only=False)
    class Lowering(NativeLowering):
        _name = f"ep_lowering_{lower.__name__}"

        @property
        def lowering_class(self) -> Any:
            return lower

    class Pipeline(compiler.CompilerBase):
        def define_pipelines(self) -> Any:
            passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
            passes.passes = [(Lowering, text) if one is NativeLowering else (one, text) for one, text in passes.passes]
            return [passes]

    return Pipeline


WideVectors = _pipeline(_WideVectors)
Interleaved = _pipeline(_Interleaved)
