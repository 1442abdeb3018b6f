"""Compilation of kernels, and their loading from the disk cache.

All compiled code is called through its address; its arguments are int64 words. A *task* returns nothing, a *function*
returns an int64. Both are ordinary Numba functions, or written in LLVM IR. Unlike with `@njit(cache=True)`, each kernel
has its own file, named after its computation: Numba's index would be one file per source function, shared by all keys
of a primitive, and Numba never finds a closure again. Numba is imported when a kernel is first compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from ep.common.deferred import Deferred
from ep.common.kernel_cache.statistics import Statistics
from ep.common.native.machine_code import function_addresses
from ep.common.native.on_demand import registry, types
from ep.cpu.compile.code import Write
from ep.cpu.compile.jit import OPTIONS, separate
from ep.cpu.compile.vectors import WORD
from ep.cpu.machine.kernel_cache import CACHE

statistics: Final = Statistics()


def compile_task(
    name: str, function: Callable[..., None], num_words: int = 3, light: bool = False, streaming: bool = False
) -> int:
    """Return the address of `function` as a C function of `num_words` int64 arguments that returns nothing.

    name: identifies the computation; unique among all kernels and usable as a file name.
    light: whether the kernel is bound by memory alone.
    streaming: whether, in addition, it writes its results with non-temporal stores; see `StreamingLibrary` for the
        requirements on dst.
    """

    def compiled() -> tuple[Any, list[str]]:
        from ep.cpu.compile.lowering import Kernel, LightKernel, StreamingKernel

        pipeline = StreamingKernel if streaming else LightKernel if light else Kernel
        return _c_function(function, types.void, pipeline)

    def documented() -> tuple[int, ...]:
        return (_documented(function, types.void),)

    name += ".streaming" * streaming
    return _addresses(name, function, f"task of {num_words}{' light' * light}", compiled, documented)[0]


def compile_tasks(name: str, *functions: Callable[..., None]) -> tuple[int, ...]:
    """Return the addresses of several tasks of one kernel; functions that they share are compiled once.

    Every argument of a task is an int64 word.
    """

    def compiled() -> tuple[Any, list[str]]:
        from ep.common.native.pointers import argument_types
        from ep.cpu.compile.libraries import KernelLibrary
        from ep.cpu.compile.lowering import add_c_function

        context = registry.cpu_target.target_context
        made: Any = KernelLibrary
        library, symbols = made(context.codegen(), name), []
        for function in functions:
            # not that of an equal function: a kernel's symbols are its own
            task = cast(Deferred, separate(function)).make(function)
            arguments = argument_types(function)
            task.compile(types.void(*arguments))
            result = task.overloads[arguments]
            library.add_linking_library(result.library)
            add_c_function(library, context, result.fndesc)
            symbols.append(result.fndesc.llvm_cfunc_wrapper_name)
        library.finalize()
        return library, symbols

    def documented() -> tuple[int, ...]:
        return tuple(_documented(function, types.void) for function in functions)

    return _addresses(name, functions, "tasks", compiled, documented)


def compile_written(name: str, write: Write, num_words: int = 3, light: bool = False, streaming: bool = False) -> int:
    """Return the address of a C function, as `compile_task` does, whose LLVM IR `write` writes."""

    def compiled() -> tuple[Any, list[str]]:
        from numba.core.bytecode import FunctionIdentity

        from ep.cpu.compile.libraries import KernelLibrary, StreamingLibrary
        from ep.cpu.compile.written import written

        symbol = f"ep.{name}.{next(FunctionIdentity._unique_ids)}"
        codegen = registry.cpu_target.target_context.codegen()
        made: Any = StreamingLibrary if streaming else KernelLibrary
        library = made(codegen, symbol)
        module = library.create_ir_module(symbol)
        written(library, module, symbol, write, [WORD] * num_words, light)
        library.add_ir_module(module)
        library.finalize()
        return library, [symbol]

    def documented() -> tuple[int, ...]:
        from ep.cpu.compile.documented import written_task

        return (written_task(write, num_words),)

    name += ".streaming" * streaming
    return _addresses(name, write, f"written task of {num_words}{' light' * light}", compiled, documented)[0]


def compile_function(name: str, function: Callable[..., int], num_words: int) -> int:
    """Return the address of `function` as a C function of `num_words` int64 arguments that returns an int64."""

    def compiled() -> tuple[Any, list[str]]:
        from ep.cpu.compile.lowering import Kernel

        return _c_function(function, types.int64, Kernel)

    def documented() -> tuple[int, ...]:
        return (_documented(function, types.int64),)

    return _addresses(name, function, f"function of {num_words}", compiled, documented)[0]


def _documented(function: Callable[..., Any], result_type: Any) -> int:
    """Return the address of a function of words that Numba compiles by its documented interface."""
    from ep.cpu.compile.documented import c_function

    return c_function(function, result_type)


def _c_function(function: Callable[..., Any], result_type: Any, pipeline: Any) -> tuple[Any, list[str]]:
    """Compile a function of words; return its library and its symbol."""
    from numba.core.ccallback import CFunc

    from ep.common.native.pointers import argument_types

    signature, options = (argument_types(function), result_type), {"nopython": True, **OPTIONS}
    made: Any = CFunc(function, signature, {}, options, pipeline_class=pipeline)
    result = made._compile_uncached()
    return result.library, [result.fndesc.llvm_cfunc_wrapper_name]


def _addresses(
    name: str,
    made_of: object,
    to: str,
    compiled: Callable[[], tuple[Any, list[str]]],
    documented: Callable[[], tuple[int, ...]],
) -> tuple[int, ...]:
    """Return the addresses of a kernel's functions: see `function_addresses`."""

    def front_end() -> tuple[Any, list[str]]:
        from numba.core import postproc

        from ep.common.native.known_types import known_call_types
        from ep.common.native.lifetimes import lifetimes_where_used

        with known_call_types(), lifetimes_where_used(postproc):
            return compiled()

    def made(file_name: str | None) -> tuple[Any, list[str], bytes]:
        from ep.cpu.compile import ahead

        return ahead.compiled(file_name, front_end)

    def made_by_numba() -> tuple[int, ...]:
        from ep.cpu.compile import ahead

        ahead.check_not_refused(None)
        return documented()

    return function_addresses(CACHE, statistics, name, made_of, to, made, made_by_numba)
