"""Machine code of host functions: compiled, or linked from a kernel cache without a compiler.

A file of the cache holds machine code and the names of the symbols to call.
"""

from __future__ import annotations

import hashlib
import itertools
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from llvmlite.binding import ObjectFileRef
from numba.core import config
from numba.core.bytecode import FunctionIdentity
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from ep.common import notice
from ep.common.kernel_cache.cache import KernelCache
from ep.common.kernel_cache.statistics import Statistics

LIBRARIES: Final[list[object]] = []
"""All libraries compiled so far, kept alive because addresses of their machine code are in use."""


def function_addresses(
    cache: KernelCache,
    statistics: Statistics,
    name: str,
    made_of: object,
    to: Any,
    compiled: Callable[[], tuple[Any, list[str]]],
) -> tuple[int, ...]:
    """Return the addresses of a kernel's functions, from the cache or from the library and symbols `compiled` returns.

    made_of: the function or functions that are compiled. to: the form they are compiled to, with the signature.
    """
    with _compiling():
        statistics.names.append(name)
        codegen = cpu_target.target_context.codegen()
        variant = hashlib.sha256(repr((str(to), codegen.magic_tuple(), _settings())).encode()).hexdigest()[:12]
        file_name = cache.file_name(name, variant, made_of)
        if kept := cache.read(file_name, _linkable):
            symbols, machine_code = kept
            codegen._engine._ee.add_object_file(ObjectFileRef.from_data(machine_code))
            statistics.loaded += 1
            return tuple(int(codegen._engine.get_function_address(symbol)) for symbol in symbols)
        notice.compiling()
        with statistics.compiling():
            library, symbols = compiled()
            addresses = tuple(int(library.get_pointer_to_function(symbol)) for symbol in symbols)
        LIBRARIES.append(library)
        cache.write(file_name, b"\0".join((" ".join(symbols).encode(), library._get_compiled_object())))
        return addresses


@contextmanager
def _compiling() -> Iterator[None]:
    """Guard the compiling or loading of a kernel: one thread at a time, with symbols unique to this process.

    Numba tells closures of the same name apart by a counter that restarts in every process. Kernels compiled by two
    processes could share a symbol, and one of them would run the other's code once both are loaded.
    """
    with global_compiler_lock:
        counter = FunctionIdentity._unique_ids
        try:
            FunctionIdentity._unique_ids = itertools.count(secrets.randbits(62))
            yield
        finally:
            FunctionIdentity._unique_ids = counter


def _linkable(contents: bytes) -> tuple[list[str], bytes] | None:
    """Return the symbols and the machine code that a file holds; None if it lacks one of them."""
    symbols, _, machine_code = contents.partition(b"\0")
    return (symbols.decode().split(" "), machine_code) if symbols and symbols.isascii() and machine_code else None


def _settings() -> tuple[Any, ...]:
    """Return the settings of Numba that change its code, so that code compiled for debugging is not found later."""
    names = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT", "LLVM_REFPRUNE_PASS")
    return tuple(str(getattr(config, name, None)) for name in names)
