"""Compilation of kernels, and their loading from the disk cache.

Two kinds of code are compiled. A *task* is called by compiled code through its address; its arguments are int64 words.
An *entry* is called by Python. Both are ordinary Numba functions. Unlike with `@njit(cache=True)`, each kernel has its
own file, named after its computation: Numba's index would be one file per source function, shared by all keys of a
primitive, and Numba never finds a closure again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from numba import njit
from numba.core import postproc, types
from numba.core.bytecode import FunctionIdentity
from numba.core.ccallback import CFunc
from numba.core.registry import cpu_target

from ep.common.kernel_cache.statistics import Statistics
from ep.common.native.known_types import known_call_types
from ep.common.native.lifetimes import lifetimes_where_used
from ep.common.native.machine_code import function_addresses
from ep.common.native.python_function import python_function
from ep.cpu.compile.code import Write, written
from ep.cpu.compile.jit import OPTIONS, OUTER, separate
from ep.cpu.compile.libraries import KernelLibrary, StreamingLibrary
from ep.cpu.compile.lowering import Kernel, LightKernel, StreamingKernel, add_c_function
from ep.cpu.compile.ndarray import object_address
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
    name += ".streaming" * streaming
    signature = types.void(*(types.int64,) * num_words)

    def compiled() -> tuple[Any, list[str]]:
        options = {"nopython": True, **OPTIONS}
        pipeline = StreamingKernel if streaming else LightKernel if light else Kernel
        task = CFunc(function, (signature.args, types.void), {}, options, pipeline_class=pipeline)
        result = task._compile_uncached()
        return result.library, [result.fndesc.llvm_cfunc_wrapper_name]

    return _addresses(name, function, (signature, light), compiled)[0]


def compile_tasks(name: str, *functions: Callable[..., None]) -> tuple[int, ...]:
    """Return the addresses of several tasks of one kernel; functions that they share are compiled once.

    Every argument of a task is an int64 word.
    """

    def compiled() -> tuple[Any, list[str]]:
        context = cpu_target.target_context
        library, symbols = KernelLibrary(context.codegen(), name), []
        library.enable_object_caching()
        for function in functions:
            task = separate(function).make(function)  # not that of an equal function: a kernel's symbols are its own
            arguments = (types.int64,) * function.__code__.co_argcount
            task.compile(types.void(*arguments))
            result = task.overloads[arguments]
            library.add_linking_library(result.library)
            add_c_function(library, context, result.fndesc)
            symbols.append(result.fndesc.llvm_cfunc_wrapper_name)
        library.finalize()
        return library, symbols

    return _addresses(name, functions, "tasks", compiled)


def compile_written(name: str, write: Write, num_words: int = 3, light: bool = False, streaming: bool = False) -> int:
    """Return the address of a C function, as `compile_task` does, whose LLVM IR `write` writes."""
    name += ".streaming" * streaming

    def compiled() -> tuple[Any, list[str]]:
        symbol = f"ep.{name}.{next(FunctionIdentity._unique_ids)}"
        library = (StreamingLibrary if streaming else KernelLibrary)(cpu_target.target_context.codegen(), symbol)
        library.enable_object_caching()
        module = library.create_ir_module(symbol)
        written(library, module, symbol, write, [WORD] * num_words, light)
        library.add_ir_module(module)
        library.finalize()
        return library, [symbol]

    return _addresses(name, write, (num_words, light), compiled)[0]


def compile_function(name: str, function: Callable[..., int], num_words: int) -> int:
    """Return the address of `function` as a C function of `num_words` int64 arguments that returns an int64."""
    signature = types.int64(*(types.int64,) * num_words)

    def compiled() -> tuple[Any, list[str]]:
        made = CFunc(function, (signature.args, types.int64), {}, {"nopython": True, **OPTIONS}, pipeline_class=Kernel)
        result = made._compile_uncached()
        return result.library, [result.fndesc.llvm_cfunc_wrapper_name]

    return _addresses(name, function, signature, compiled)[0]


def compile_entry(name: str, function: Callable[..., int]) -> Callable[..., int]:
    """Return `function`, whose arguments are objects, as a Python callable without Numba's dispatcher around it."""
    signature = types.int64(*(object_address,) * function.__code__.co_argcount)

    def compiled() -> tuple[Any, list[str]]:
        dispatcher = njit(**OUTER)(function)
        dispatcher.compile(signature)
        result = dispatcher.overloads[signature.args]
        return result.library, [result.fndesc.llvm_cpython_wrapper_name]

    return python_function(name, _addresses(name, function, signature, compiled)[0])


def _addresses(name: str, made_of: object, to: Any, compiled: Callable[[], tuple[Any, list[str]]]) -> tuple[int, ...]:
    """Return the addresses of a kernel's functions: see `function_addresses`."""

    def once() -> tuple[Any, list[str]]:
        with known_call_types(), lifetimes_where_used(postproc):
            return compiled()

    return function_addresses(CACHE, statistics, name, made_of, to, once)
