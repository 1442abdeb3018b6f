"""Numba pipelines that lower kernels to LLVM IR in ways that Numba has no option for."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from llvmlite import ir as llvm
from numba._dynfunc import make_function
from numba.core import compiler, ir, lowering
from numba.core.compiler_machinery import register_pass
from numba.core.environment import Environment
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import NativeLowering
from numba.core.typing.templates import signature

from ep.common.loops.writer import with_loops_written_out
from ep.common.native.dispatcher import Dispatcher
from ep.common.native.wrapping import wrap
from ep.cpu.compile.direct import NOT_WRITTEN, lowered
from ep.cpu.compile.libraries import InnerLibrary, KernelLibrary, StreamingLibrary
from ep.cpu.compile.target import vector_width
from ep.cpu.compile.vectors import PIECE, in_one_vector, interleaving

_NOT_NEEDED: Final = frozenset(
    (
        *("WithLifting", "InlineClosureLikes", "RewriteDynamicRaises", "MakeFunctionToJitFunction", "InlineInlinables"),
        *("FindLiterallyCalls", "LiteralUnroll", "LiteralPropagationSubPipelinePass", "InlineOverloads"),
        *("NopythonRewrites", "NoPythonSupportedFeatureValidation", "AnnotateTypes", "DumpParforDiagnostics"),
    )
)
"""Numba's passes for features kernels do not use: closures, `with`, exceptions, array expressions, literal arguments.
"""


class _WideVectors(lowering.Lower):
    """Lowering that sets the preferred vector width."""

    light = False
    wraps = False

    def pre_lower(self) -> None:
        lowering.Lower.pre_lower(self)
        self.begin(self.function)

    def post_lower(self) -> None:
        lowering.Lower.post_lower(self)
        self.finish(self.function)

    @classmethod
    def finish(cls, function: Any) -> None:
        """Change the instructions of a whole function."""
        if cls.wraps:
            wrap(function)

    @classmethod
    def begin(cls, function: Any) -> None:
        """Mark an empty function."""
        set.add(function.attributes, vector_width(cls.light))

    @staticmethod
    def mark(module: Any) -> Any:
        """Return the metadata of the loops."""
        return None

    @staticmethod
    def of_parts() -> Any:
        """Return the lowering of functions that become parts of another one."""
        return _WideVectors


class _Operands(_WideVectors):
    """Lowering of functions of operands, whose integers wrap."""

    wraps = True


class _Separate(_WideVectors):
    """Lowering that keeps the function from being inlined."""

    @classmethod
    def begin(cls, function: Any) -> None:
        super().begin(function)
        function.attributes.add("noinline")


class _Marked(_WideVectors):
    """Lowering that marks every loop's backward jump."""

    def lower_inst(self, inst: Any) -> None:
        lowering.Lower.lower_inst(self, inst)
        if isinstance(inst, ir.Jump) and self.blkmap[inst.target].is_terminated:
            self.builder.block.terminator.set_metadata("llvm.loop", type(self).mark(self.module))


class _Interleaved(_Marked, _Separate):
    """Lowering with which LLVM interleaves several vectors."""

    mark = staticmethod(interleaving)


class _Pieces(_Marked):
    """Lowering with which LLVM makes a loop over a piece one vector."""

    mark = staticmethod(partial(in_one_vector, count=PIECE))


class _PairsOfPieces(_Marked):
    """Lowering with which LLVM makes a loop over the pairs of a piece one vector."""

    mark = staticmethod(partial(in_one_vector, count=PIECE // 2))


def add_c_function(library: Any, context: Any, descriptor: Any) -> None:
    """Add to `library` the C function that calls the function of `descriptor`.

    It leaves out Numba's code that passes exceptions to Python, which is as long as some tasks.
    """
    result, arguments = descriptor.restype, descriptor.argtypes
    module = context.create_module("cfunc_wrapper")
    task_type = context.call_conv.get_function_type(result, arguments)
    task = llvm.Function(module, task_type, descriptor.llvm_func_name)
    c_type = llvm.FunctionType(context.get_value_type(result), [context.get_value_type(t) for t in arguments])
    wrapper = llvm.Function(module, c_type, descriptor.llvm_cfunc_wrapper_name)
    builder = llvm.IRBuilder(wrapper.append_basic_block("entry"))
    _, value = context.call_conv.call_function(builder, task, result, arguments, wrapper.args, attrs=("noinline",))
    builder.ret(value)
    library.add_ir_module(module)


class _Kernel(_WideVectors):
    """Lowering that adds the C function of a kernel."""

    def create_cfunc_wrapper(self) -> None:
        add_c_function(self.library, self.context, self.fndesc)


class _LightKernel(_Kernel):
    """The lowering of a kernel that is bound by memory alone."""

    light = True


def _pipeline(lower: type[_WideVectors], library_class: type[Any] = InnerLibrary) -> type[compiler.CompilerBase]:
    """Return Numba's pipeline with another lowering class, and without the passes that would have no effect.

    library_class: the class of the code's library. The default is for functions that only compiled code calls, and
        which become part of their callers.
    """
    inner = library_class is InnerLibrary

    @register_pass(mutates_CFG=False, analysis_only=False)  # nothing analyses the function any more
    class Lowering(NativeLowering):
        _name = f"ep_lowering_{lower.__name__}"

        @property
        def lowering_class(self) -> Any:
            return lower

        def run_pass(self, state: Any) -> bool:
            state.library = library_class(state.targetctx.codegen(), state.func_id.func_qualname)
            state.flags.no_compile = True
            NativeLowering.run_pass(self, state)
            if inner:
                lowered = state["cr"]
                function = _not_callable(lowered, state.library)
                state.targetctx.insert_user_function(function, lowered.fndesc, [state.library])
                state["cr"] = lowered._replace(cfunc=function)
            return True

    class Pipeline(compiler.CompilerBase):
        def compile_extra(self, func: Any) -> Any:
            try:
                return _directly(self.state, func, lower, library_class)
            except NOT_WRITTEN:
                return compiler.CompilerBase.compile_extra(self, with_loops_written_out(func))

        def define_pipelines(self) -> Any:
            passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
            passes.passes = [
                (Lowering if one is NativeLowering else one, text)
                for one, text in passes.passes
                if one.__name__ not in _NOT_NEEDED
            ]
            return [passes]

    return Pipeline


def _directly(state: Any, function: Any, lower: type[_WideVectors], library_class: type[Any]) -> Any:
    """Compile a function from its syntax tree; raise one of NOT_WRITTEN if Numba has to compile it."""
    library, context = library_class(state.targetctx.codegen(), function.__qualname__), state.targetctx
    with ConfigStack().enter(state.flags.copy()), context.push_code_library(library):
        descriptor = lowered(function, state, library, lower)
    environment, callable_ = Environment.from_fndesc(descriptor), None
    if library_class is InnerLibrary:
        callable_ = _not_callable(compiler._LowerResult(descriptor, None, None, environment), library)
        context.insert_user_function(callable_, descriptor, [library])
    else:
        add_c_function(library, context, descriptor)
    return compiler.compile_result(
        typing_context=state.typingctx,
        target_context=context,
        entry_point=callable_,
        library=library,
        signature=signature(descriptor.restype, *state.args),
        objectmode=False,
        fndesc=descriptor,
        environment=environment,
        metadata=state.metadata,
        reload_init=[],
    )


def _not_callable(lowered: Any, library: Any) -> Any:
    """Return the placeholder of a compiled function in Numba's tables; it cannot be called."""
    name = lowered.fndesc.qualname
    return make_function(lowered.fndesc.lookup_module(), name, "", 0, lowered.env, (library,))


def dispatcher(function: Callable[..., Any], pipeline: type[compiler.CompilerBase], options: Mapping[str, Any]) -> Any:
    """Return `function` as Numba compiles it for other compiled functions."""
    return Dispatcher(function, targetoptions={"nopython": True, **options}, pipeline_class=pipeline)


WideVectors: Final = _pipeline(_WideVectors)
Operands: Final = _pipeline(_Operands)
Separate: Final = _pipeline(_Separate)
Interleaved: Final = _pipeline(_Interleaved)
Pieces: Final = _pipeline(_Pieces)
PairsOfPieces: Final = _pipeline(_PairsOfPieces)
Kernel: Final = _pipeline(_Kernel, KernelLibrary)
LightKernel: Final = _pipeline(_LightKernel, KernelLibrary)
StreamingKernel: Final = _pipeline(_LightKernel, StreamingLibrary)
