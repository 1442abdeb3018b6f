"""Loops that LLVM vectorises several vectors at a time.

A long chain of dependent instructions per element leaves a core waiting unless it has several of them at once. Its own
window is too short for more than a few, and LLVM interleaves only loops that are short.
"""

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir as llvm
from numba.core import compiler, ir, lowering
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

from ep.cpu.kernels.jit import OPTIONS

_COUNT = 4


class _Lower(lowering.Lower):
    """Marks the jump back of every loop."""

    def lower_inst(self, inst: Any) -> None:
        super().lower_inst(inst)
        if isinstance(inst, ir.Jump) and self.blkmap[inst.target].is_terminated:
            self.builder.block.terminator.set_metadata("llvm.loop", _interleave(self.module))


def _interleave(module: Any) -> Any:
    count = module.add_metadata(["llvm.loop.interleave.count", llvm.Constant(llvm.IntType(32), _COUNT)])
    loop = module.add_metadata([f"loop {len(module.metadata)}"])
    loop.operands = (loop, count)  # the identity of a loop is a node that refers to itself
    return loop


@register_pass(mutates_CFG=True, analysis_only=False)
class _InterleavedLowering(NativeLowering):
    _name = "ep_interleaved_lowering"

    @property
    def lowering_class(self) -> Any:
        return _Lower


class _Compiler(compiler.CompilerBase):
    def define_pipelines(self) -> Any:
        passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (_InterleavedLowering, text) if one is NativeLowering else (one, text) for one, text in passes.passes
        ]
        return [passes]


def interleaved(function: Callable[..., Any]) -> Any:
    """Like `jit`; what is vectorised in `function` itself is so `_COUNT` vectors at a time."""
    return numba.njit(pipeline_class=_Compiler, **OPTIONS)(function)
