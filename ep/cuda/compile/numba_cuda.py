"""All uses of numba.cuda. No other module imports it, so replacing the package changes one file."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
from llvmlite import ir

from ep.common.deferred import Deferred
from ep.common.functor.math_library import ScalarType
from ep.common.native.assigned_once import assigned_once_in_one_pass
from ep.common.native.known_types import known_call_types
from ep.common.native.lifetimes import lifetimes_where_used
from ep.common.native.numba_function import NumbaFunction
from ep.common.native.replaced import replaced
from ep.common.native.wrapping import wrap
from ep.cuda.compile.kernel_words import Shape
from ep.cuda.compile.launch_config import PACK_BYTES
from ep.cuda.driver.packages import load_libraries, redirect_numba_cuda


@contextmanager
def _older_numpy() -> Iterator[None]:
    """Add the names that numba-cuda 0.30, which is imported inside, expects in NumPy, and NumPy 2.5 has removed.

    These are a name and a NaT without unit, both for functions that no kernel uses: the kernels do not change.
    """
    removed = "row_stack" not in vars(np)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The 'generic' unit", DeprecationWarning)
        if removed:
            np.row_stack = np.vstack
        try:
            yield
        finally:
            if removed:
                del np.row_stack


redirect_numba_cuda()
load_libraries()  # numba-cuda asks for the runtime as soon as it is imported
with _older_numpy():
    from numba import cuda
    from numba.cuda import cgutils, compiler, dispatcher, libdevice, lowering, types
    from numba.cuda.core import compiler_machinery, postproc
    from numba.cuda.core.compiler_lock import global_compiler_lock
    from numba.cuda.descriptor import cuda_target
    from numba.cuda.np.numpy_support import from_dtype
    from numba.cuda.typing.templates import make_intrinsic_template

    import_module("numba.cuda.np.arrayobj")  # otherwise the first compilation would, after NumPy is restored

__all__ = ["cgutils", "from_dtype", "ir", "libdevice", "types"]

_on_device: Final = partial(cuda.jit, device=True, lto=False)
"""Options of device functions. By default, one of them depends on whether nvJitLink is there; kernels do not."""


def device_function(function: Callable[..., Any]) -> Deferred:
    """Make `function` callable from kernels and other device functions."""
    return Deferred(function, _device_function)


def _device_function(function: Callable[..., Any]) -> Any:
    return _on_device(function)


def intrinsic(typed: Callable[..., Any]) -> Deferred:
    """Make a function of kernels from `typed(typing_context, *types)`.

    `typed` returns a call's signature and the function that writes its instructions, as for Numba's own decorator.
    """
    return Deferred(typed, _intrinsic)


def _intrinsic(typed: Callable[..., Any]) -> NumbaFunction:
    return NumbaFunction(typed, types, make_intrinsic_template)


@_on_device
def thread_index() -> Any:
    """Return the number of the calling thread in its grid."""
    return cuda.grid(1)


@_on_device
def num_threads() -> Any:
    """Return the number of threads in the grid."""
    return cuda.gridsize(1)


@_on_device
def thread_of_block() -> Any:
    """Return the number of the calling thread in its block, along the first axis."""
    return cuda.threadIdx.x


@_on_device
def block_of_grid() -> Any:
    """Return the numbers of the calling thread's block, along the three axes of the grid."""
    return cuda.blockIdx.x, cuda.blockIdx.y, cuda.blockIdx.z


@_on_device
def blocks_of_grid() -> Any:
    """Return how many blocks the grid has along its three axes."""
    return cuda.gridDim.x, cuda.gridDim.y, cuda.gridDim.z


@_on_device
def barrier() -> None:
    """Wait for all threads of the block, each of which must call it."""
    cuda.syncthreads()


def shared_array(count: int, scalar_type: ScalarType) -> Any:
    """Return a function of no arguments: an array of `count` numbers in the block's shared memory.

    Each call that is written in a kernel gives another array. count: 0 for as many as the launch's `shared_bytes` hold;
    they are aligned to PACK_BYTES, and all such arrays are the same memory.
    """
    element, alignment = from_dtype(np.dtype(scalar_type)), None if count else PACK_BYTES

    def array() -> Any:
        return cuda.shared.array(count, element, alignment)

    # a function may not return an array, unless it is inlined before that is checked
    return _on_device(array, inline="always")


def shared_address(words: int = 0) -> Any:
    """Return a function of no arguments: the address, as an int64, of the shared memory that a launch asks for.

    words: instead, of as many words of 8 bytes of static shared memory: one memory for all functions of a kernel.
    """
    word = ir.IntType(64)
    kind = ir.ArrayType(word, words)

    @intrinsic
    def address(typing_context: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            name, variables = f"shared_memory_{words}", builder.module.globals
            memory = variables.get(name) or ir.GlobalVariable(builder.module, kind, name, addrspace=3)
            memory.align = PACK_BYTES
            constant = builder.ptrtoint(memory, word)
            if words:
                memory.linkage, memory.initializer = "linkonce_odr", ir.Constant(kind, ir.Undefined)
                return constant
            # a constant would be added to each offset of an unrolled loop
            return builder.asm(ir.FunctionType(word, [word]), "mov.b64 $0, $1;", "=l,l", [constant], False)

        return types.int64(), generate

    return address


@intrinsic
def shuffle_xor(typing_context: Any, value: Any, mask: Any) -> Any:
    """shuffle_xor(value, mask): the value of the thread of the warp whose number differs from the caller's in the bits
    of `mask`. All threads of the warp call it. It exchanges words of 32 bits, so that numbers of every type can be.
    """
    word, butterfly = ir.IntType(32), 3

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        distance = context.cast(builder, args[1], mask, types.int32)
        result = ir.LiteralStructType((word, ir.IntType(1)))
        function_type = ir.FunctionType(result, [word] * 5)
        function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.nvvm.shfl.sync.i32")

        def exchanged(number: Any) -> Any:
            lanes, how, last = ir.Constant(word, -1), ir.Constant(word, butterfly), ir.Constant(word, 31)
            return builder.extract_value(builder.call(function, (lanes, how, number, distance, last)), 0)

        def of_bits(bits: Any) -> Any:
            if bits.type.width == 64:
                lower = builder.zext(exchanged(builder.trunc(bits, word)), bits.type)
                upper = builder.zext(exchanged(builder.trunc(builder.lshr(bits, bits.type(32)), word)), bits.type)
                return builder.or_(lower, builder.shl(upper, bits.type(32)))
            if bits.type.width == 32:
                return exchanged(bits)
            return builder.trunc(exchanged(builder.zext(bits, word)), bits.type)

        def of_number(number: Any) -> Any:
            if isinstance(number.type, ir.IntType):
                return of_bits(number)
            bits = ir.IntType(64 if isinstance(number.type, ir.DoubleType) else 32)
            return builder.bitcast(of_bits(builder.bitcast(number, bits)), number.type)

        if not isinstance(value, types.Complex):
            return of_number(args[0])
        parts = context.make_complex(builder, value, value=args[0])
        parts.real, parts.imag = of_number(parts.real), of_number(parts.imag)
        return parts._getvalue()

    return value(value, mask), generate


def float_instruction(name: str) -> Any:
    """Return f(x): the result of a PTX instruction with one operand, such as "ex2.approx.ftz.f32", for a float32."""

    @intrinsic
    def instruction(typing_context: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            number = ir.FloatType()
            operand = context.cast(builder, args[0], x, types.float32)
            return builder.asm(ir.FunctionType(number, [number]), f"{name} $0, $1;", "=f,f", [operand], False)

        return types.float32(x), generate

    return instruction


@intrinsic
def next_index(typing_context: Any, index: Any, step: Any) -> Any:
    """index + step; the compiler cannot see through it, and so does not divide by the step to count a loop's turns."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        return builder.asm(ir.FunctionType(word, [word, word]), "add.s64 $0, $1, $2;", "=l,l,l", args, False)

    return types.int64(types.int64, types.int64), generate


def _argument(shape: Shape) -> Any:
    """Return the type of an argument of a kernel, or of a field of one."""
    if shape is None:
        return types.int64
    if isinstance(shape, int):
        return types.UniTuple(types.int64, shape)
    record, fields = shape
    return types.NamedTuple([*map(_argument, fields)], record)


def compile_kernel(kernel: Callable[..., None], shapes: Sequence[Shape], cc: tuple[int, int]) -> str:
    """Return the PTX of a kernel for compute capability `cc`; needs no device.

    shapes: those of its arguments. In PTX, each of their words is a separate parameter.
    """
    signature = types.void(*map(_argument, shapes))
    with (
        global_compiler_lock,
        _compiling_for(cc),
        known_call_types(),
        lifetimes_where_used(postproc),
        assigned_once_in_one_pass(lowering),
        replaced(lowering.Lower, "post_lower", _post_lower),
    ):
        code, _ = cuda.compile(kernel, signature, device=False, abi="numba", cc=cc, output="ptx")
    return str(code)


_numbas_post_lower: Final = lowering.Lower.post_lower


def _post_lower(self: Any) -> None:
    """Finish a function as Numba does; integers of operands wrap."""
    _numbas_post_lower(self)
    if self.func_ir.func_id.modname.startswith("ep.common.functor."):
        wrap(self.function)


_NOT_NEEDED: Final = frozenset(
    (
        *("WithLifting", "InlineClosureLikes", "RewriteDynamicRaises", "MakeFunctionToJitFunction"),
        *("FindLiterallyCalls", "LiteralUnroll", "LiteralPropagationSubPipelinePass", "InlineOverloads"),
        *("NopythonRewrites", "AnnotateTypes"),
    )
)
"""Numba's passes for features kernels do not use: closures, `with`, exceptions, array expressions, literal arguments.
"""


class _Passes(compiler_machinery.PassManager):  # type: ignore[misc]
    """Numba's passes, which it would run with a clock, events, and a description of each pass and function for them."""

    def run(self, state: Any) -> None:
        for made, _ in self.passes:
            one = compiler_machinery._pass_registry.get(made).pass_inst
            one.analysis = self._analysis
            one.run_initialization(state)
            one.run_pass(state)
            one.run_finalizer(state)


class _Compiler(compiler.CUDACompiler):  # type: ignore[misc]
    """Numba's pipeline without the passes that would have no effect: after each one, Numba analyses the function."""

    def __init__(self, *given: Any, **named: Any) -> None:
        """Numba would look for new declarations of functions here, as it also does where one is missing."""
        with ExitStack() as stack:
            for context in given[:2]:
                stack.enter_context(replaced(type(context), "refresh", lambda self: None))
            super().__init__(*given, **named)

    def define_pipelines(self) -> Any:
        if not _PASSES:  # the same for all functions
            (numbas,) = super().define_pipelines()
            kept = _Passes(numbas.pipeline_name)
            kept.passes = [one for one in numbas.passes if one[0].__name__ not in _NOT_NEEDED]
            kept.finalize()
            _PASSES.append(kept)
        return _PASSES


_PASSES: Final[list[_Passes]] = []


@contextmanager
def _compiling_for(cc: tuple[int, int]) -> Iterator[None]:
    """Make functions compile for `cc`, by the pipeline of kernels.

    Numba would compile device functions for the current device, and there may be none.
    """
    cuda_target.target_context.refresh()
    device = SimpleNamespace(compute_capability=cc)
    with replaced(dispatcher, "get_current_device", lambda: device), replaced(compiler, "CUDACompiler", _Compiler):
        yield
