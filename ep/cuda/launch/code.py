"""The compiler of host functions, and what compiled code calls at addresses: functions of the driver."""

from __future__ import annotations

import hashlib
import itertools
import secrets
from collections.abc import Callable
from typing import Any, Final

import numba
from llvmlite import ir
from llvmlite.binding import ObjectFileRef
from numba.core import types
from numba.core.bytecode import FunctionIdentity
from numba.core.ccallback import CFunc
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from ep.common import notice
from ep.common.garbage import garbage_waits
from ep.common.native.emitted import emitted
from ep.cuda.compile.kernel_cache import CACHE

_OPTIONS: Final[dict[str, Any]] = {"error_model": "numpy", "_nrt": False}
_WORD: Final = ir.IntType(64)
_INT: Final = ir.IntType(32)
_keep: Final[list[object]] = []
"""The compiled libraries, since addresses of their code are in use."""


def jit(function: Callable[..., Any]) -> Any:
    """Make `function` callable from other compiled functions."""
    return numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)(function)


def compile_function(name: str, function: Callable[..., int], num_words: int) -> int:
    """Return the address of `function` as a C function of `num_words` int64 arguments that returns an int64.

    name: for the kernel cache.
    """
    with global_compiler_lock, garbage_waits():
        codegen = cpu_target.target_context.codegen()
        variant = hashlib.sha256(repr((num_words, codegen.magic_tuple())).encode()).hexdigest()[:12]
        file_name = CACHE.file_name(name, variant, function)
        if kept := CACHE.read(file_name, _linkable):
            symbol, machine_code = kept
            codegen._engine._ee.add_object_file(ObjectFileRef.from_data(machine_code))
            return int(codegen._engine.get_function_address(symbol))
        notice.compiling()
        counter = FunctionIdentity._unique_ids
        try:
            # otherwise functions that two processes compile could share a symbol
            FunctionIdentity._unique_ids = itertools.count(secrets.randbits(62))
            signature = types.int64(*(types.int64,) * num_words)
            made = CFunc(function, (signature.args, types.int64), {}, {"nopython": True, **_OPTIONS})
            result = made._compile_uncached()
        finally:
            FunctionIdentity._unique_ids = counter
        library, symbol = result.library, result.fndesc.llvm_cfunc_wrapper_name
        address = int(library.get_pointer_to_function(symbol))
        _keep.append(library)
        CACHE.write(file_name, b"\0".join((symbol.encode(), library._get_compiled_object())))
        return address


def _linkable(contents: bytes) -> tuple[str, bytes] | None:
    """Return the symbol and the machine code that a file holds; None if it lacks one of them."""
    symbol, _, machine_code = contents.partition(b"\0")
    return (symbol.decode(), machine_code) if symbol and symbol.isascii() and machine_code else None


def _call(builder: Any, address: Any, *arguments: Any) -> Any:
    """Call the function of the driver at an address; return its result as a word."""
    kind = ir.FunctionType(_INT, [argument.type for argument in arguments]).as_pointer()
    return builder.sext(builder.call(builder.inttoptr(address, kind), arguments), _WORD)


@emitted(types.int32)
def as_int(builder: Any, word: Any) -> Any:
    """Return a word as a C int."""
    return builder.trunc(word, _INT)


@emitted(types.int64)
def call_driver(builder: Any, function: Any, argument: Any) -> Any:
    """Call a function of one pointer."""
    return _call(builder, function, argument)


@emitted(types.int64)
def call_driver_with_two(builder: Any, function: Any, first: Any, second: Any) -> Any:
    """Call a function of two pointers."""
    return _call(builder, function, first, second)


@emitted(types.int64)
def call_attribute(builder: Any, function: Any, value: Any, attribute: Any, address: Any) -> Any:
    """Call cuPointerGetAttribute."""
    return _call(builder, function, value, builder.trunc(attribute, _INT), address)


@emitted(types.int64)
def call_launch(builder: Any, function: Any, kernel: Any, stream: Any, parameters: Any) -> Any:
    """Call cuLaunchKernel. kernel: the address of its first seven arguments after the function, and that before."""
    words = [
        builder.load(builder.gep(builder.inttoptr(kernel, _WORD.as_pointer()), [_WORD(place)]), align=8)
        for place in range(8)
    ]
    numbers = [builder.trunc(word, _INT) for word in words[1:]]
    return _call(builder, function, words[0], *numbers, stream, parameters, _WORD(0))
