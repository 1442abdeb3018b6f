"""The compiler of host functions, and what compiled code calls at addresses: functions of the driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from llvmlite import ir

from ep.common.kernel_cache.statistics import Statistics
from ep.common.native.emitted import emitted
from ep.common.native.jit import OPTIONS
from ep.common.native.machine_code import function_addresses
from ep.common.native.on_demand import types
from ep.common.native.pointer_code import PointerValue
from ep.cuda.compile.kernel_cache import CACHE
from ep.cuda.launch.layout import KnownKernel

_WORD: Final = ir.IntType(64)
_INT: Final = ir.IntType(32)
statistics: Final = Statistics()
"""Of host functions; those of kernels are in `ep.cuda.compile.compiler`."""


def compile_function(name: str, function: Callable[..., int], num_words: int) -> int:
    """Return the address of `function` as a C function of `num_words` words that returns an int64.

    name: for the kernel cache.
    """

    def compiled(file_name: str | None) -> tuple[Any, list[str], bytes]:
        from numba.core.ccallback import CFunc

        from ep.common.native.pointers import argument_types

        made: Any = CFunc(function, (argument_types(function), types.int64), {}, OPTIONS)
        result = made._compile_uncached()
        library = result.library
        library._ensure_finalized()
        code = library.codegen._tm.emit_object(library._final_module)
        return library, [result.fndesc.llvm_cfunc_wrapper_name], code

    def documented() -> tuple[int, ...]:
        from ep.common.native.documented_functions import c_function

        return (c_function(function, types.int64),)

    return function_addresses(CACHE, statistics, name, function, f"function of {num_words}", compiled, documented)[0]


def _call(builder: Any, address: Any, *arguments: Any) -> Any:
    """Call the function of the driver at an address; return its result as a word."""
    kind = ir.FunctionType(_INT, [argument.type for argument in arguments]).as_pointer()
    return builder.sext(builder.call(builder.inttoptr(address, kind), arguments), _WORD)


@emitted("int32")
def as_int(builder: Any, word: Any) -> Any:
    """Return a word as a C int."""
    return builder.trunc(word, _INT)


@emitted("int64")
def call_driver(builder: Any, function: Any, argument: Any) -> Any:
    """Call a function of one pointer."""
    return _call(builder, function, argument)


@emitted("int64")
def call_driver_with_two(builder: Any, function: Any, first: Any, second: Any) -> Any:
    """Call a function of two pointers."""
    return _call(builder, function, first, second)


@emitted("int64")
def call_attribute(builder: Any, function: Any, value: Any, attribute: Any, address: Any) -> Any:
    """Call cuPointerGetAttribute."""
    return _call(builder, function, value, builder.trunc(attribute, _INT), address)


@emitted("int64")
def call_launch(builder: Any, function: Any, kernel: Any, stream: Any, parameters: Any) -> Any:
    """Call cuLaunchKernel. kernel: the address of a `KnownKernel`."""
    arguments = PointerValue(builder, KnownKernel, kernel)
    sizes = *(arguments.grid[k] for k in range(3)), *(arguments.block[k] for k in range(3)), arguments.shared_bytes
    numbers = [builder.trunc(size, _INT) for size in sizes]
    return _call(builder, function, arguments.function, *numbers, stream, parameters, _WORD(0))
