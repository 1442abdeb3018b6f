"""Compilation of kernels, and their loading from the disk cache.

Two kinds of code are compiled. A *task* is called by compiled code through its address; its arguments are int64 words.
An *entry* is called by Python. Both are ordinary Numba functions. Unlike with `@njit(cache=True)`, each kernel has its
own file, named after its computation: Numba's index would be one file per source function, shared by all keys of a
primitive, and Numba never finds a closure again. A file holds machine code and the names of the symbols to call. So
loading a kernel needs LLVM's linker, but no compiler.
"""

from __future__ import annotations

import hashlib
import itertools
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from llvmlite.binding import ObjectFileRef
from numba import njit
from numba.core import config, types
from numba.core.bytecode import FunctionIdentity
from numba.core.ccallback import CFunc
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from ep.common import notice
from ep.common.garbage import garbage_waits
from ep.common.kernel_cache.statistics import Statistics
from ep.common.native.python_function import python_function
from ep.cpu.compile.code import Write, written
from ep.cpu.compile.jit import OPTIONS, OUTER, separate
from ep.cpu.compile.known_types import known_call_types
from ep.cpu.compile.libraries import KernelLibrary, StreamingLibrary
from ep.cpu.compile.lowering import Kernel, LightKernel, StreamingKernel, add_c_function
from ep.cpu.compile.ndarray import object_address
from ep.cpu.compile.vectors import WORD
from ep.cpu.machine.kernel_cache import CACHE

statistics: Final = Statistics()


@contextmanager
def _compiling() -> Iterator[None]:
    """Guard the compiling or loading of a kernel: one thread at a time, with symbols unique to this process.

    Numba tells closures of the same name apart by a counter that restarts in every process. Kernels compiled by two
    processes could share a symbol, and one of them would run the other's code once both are loaded.
    """
    with global_compiler_lock, garbage_waits(), known_call_types():
        counter = FunctionIdentity._unique_ids
        try:
            FunctionIdentity._unique_ids = itertools.count(secrets.randbits(62))
            yield
        finally:
            FunctionIdentity._unique_ids = counter


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
            task, arguments = separate(function), (types.int64,) * function.__code__.co_argcount
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
    """Return the addresses of a kernel's functions, from the cache or from the library and symbols `compiled` returns.

    made_of: the function or functions that are compiled. to: the form they are compiled to, with the signature.
    """
    with _compiling():
        statistics.names.append(name)
        codegen = cpu_target.target_context.codegen()
        variant = hashlib.sha256(repr((str(to), codegen.magic_tuple(), _settings())).encode()).hexdigest()[:12]
        file_name = CACHE.file_name(name, variant, made_of)
        if kept := CACHE.read(file_name, _linkable):
            symbols, machine_code = kept
            codegen._engine._ee.add_object_file(ObjectFileRef.from_data(machine_code))
            statistics.loaded += 1
            return tuple(int(codegen._engine.get_function_address(symbol)) for symbol in symbols)
        notice.compiling()
        with statistics.compiling():
            library, symbols = compiled()
            addresses = tuple(int(library.get_pointer_to_function(symbol)) for symbol in symbols)
        _keep.append(library)
        CACHE.write(file_name, b"\0".join((" ".join(symbols).encode(), library._get_compiled_object())))
        return addresses


def _linkable(contents: bytes) -> tuple[list[str], bytes] | None:
    """Return the symbols and the machine code that a file holds; None if it lacks one of them."""
    symbols, _, machine_code = contents.partition(b"\0")
    return (symbols.decode().split(" "), machine_code) if symbols and symbols.isascii() and machine_code else None


def _settings() -> tuple[Any, ...]:
    """Return the settings of Numba that change its code, so that code compiled for debugging is not found later."""
    names = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT", "LLVM_REFPRUNE_PASS")
    return tuple(str(getattr(config, name, None)) for name in names)


_keep: Final[list[object]] = []
"""All libraries compiled so far, kept alive because addresses of their machine code are in use."""
