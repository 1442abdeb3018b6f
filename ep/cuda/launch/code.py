"""The compiler of host functions, and what compiled code calls at addresses: functions of the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from llvmlite import ir

from ep.common.kernel_cache.statistics import Statistics
from ep.common.native.emitted import emitted
from ep.common.native.jit import OPTIONS
from ep.common.native.machine_code import function_addresses
from ep.common.native.on_demand import types
from ep.cuda.compile.kernel_cache import CACHE

_WORD: Final = ir.IntType(64)
_INT: Final = ir.IntType(32)
statistics: Final = Statistics()
"""Of host functions; those of kernels are in `ep.cuda.compile.compiler`."""


def compile_function(name: str, function: Callable[..., int], num_words: int) -> int:
    """Return the address of `function` as a C function of `num_words` int64 arguments that returns an int64.

    name: for the kernel cache.
    """

    def compiled() -> Iterator[tuple[Any, list[str]]]:
        from numba.core.ccallback import CFunc

        made = CFunc(function, ((types.int64,) * num_words, types.int64), {}, {"nopython": True, **OPTIONS})
        result = made._compile_uncached()
        result.library._ensure_finalized()
        yield result.library, [result.fndesc.llvm_cfunc_wrapper_name]

    return function_addresses(CACHE, statistics, name, function, f"function of {num_words}", compiled)[0]


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
    """Call cuLaunchKernel. kernel: the address of its first seven arguments after the function, and that before."""
    words = [
        builder.load(builder.gep(builder.inttoptr(kernel, _WORD.as_pointer()), [_WORD(place)]), align=8)
        for place in range(8)
    ]
    numbers = [builder.trunc(word, _INT) for word in words[1:]]
    return _call(builder, function, words[0], *numbers, stream, parameters, _WORD(0))
