"""Machine code of host functions: compiled, or placed in memory from a kernel cache without a compiler.

A file of the cache holds machine code and the names of the symbols to call.
"""

from __future__ import annotations

import ctypes
import hashlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from ep.common import notice
from ep.common.kernel_cache.cache import KernelCache
from ep.common.kernel_cache.statistics import Statistics
from ep.common.native import elf
from ep.common.native.on_demand import binding, registry
from ep.common.native.target import target

LIBRARIES: Final[list[Any]] = []
"""All libraries compiled so far. They show the code of kernels: `get_asm_str`, `get_llvm_str`."""

_own: Final[dict[str, int]] = {}
"""The addresses of functions that machine code calls by names of ep's own."""


def function_addresses(
    cache: KernelCache,
    statistics: Statistics,
    name: str,
    made_of: object,
    to: str,
    compiled: Callable[[], tuple[Any, list[str]]],
) -> tuple[int, ...]:
    """Return the addresses of a kernel's functions, from the cache or from the library and symbols `compiled` returns.

    made_of: the function or functions that are compiled. to: the form they are compiled to.
    """
    statistics.names.append(name)
    of = target(cache)
    variant = hashlib.sha256(repr((to, of.triple, of.processor, of.features, of.settings)).encode()).hexdigest()[:12]
    file_name = cache.file_name(name, variant, made_of)
    if kept := cache.read(file_name, _held):
        symbols, machine_code = kept
        statistics.loaded += 1
        return _placed(machine_code, symbols)
    notice.compiling()
    with _compiling(), statistics.compiling():
        target(cache)  # as Numba has it, which is loaded now
        library, symbols = compiled()
        library._ensure_finalized()
        machine_code = library.codegen._tm.emit_object(library._final_module)
    LIBRARIES.append(library)
    cache.write(file_name, b"\0".join((" ".join(symbols).encode(), machine_code)))
    return _placed(machine_code, symbols)


def name_function(name: str, address: int) -> None:
    """Let machine code call the function at `address` by `name`. The name begins with "ep."."""
    _own[name] = address


def _placed(machine_code: bytes, symbols: Sequence[str]) -> tuple[int, ...]:
    """Return the addresses of functions in machine code, which is placed in memory, or linked by LLVM."""
    try:
        return elf.place(machine_code, symbols, _address_of)
    except elf.NotPlaceableError:  # for another system or processor
        return _linked(machine_code, symbols)


def _linked(machine_code: bytes, symbols: Sequence[str]) -> tuple[int, ...]:
    from numba.core.compiler_lock import global_compiler_lock

    with global_compiler_lock:
        for name, address in _own.items():
            binding.add_symbol(name, address)
        engine = registry.cpu_target.target_context.codegen()._engine
        engine._ee.add_object_file(binding.ObjectFileRef.from_data(machine_code))
        return tuple(int(engine.get_function_address(symbol)) for symbol in symbols)


def _address_of(name: str) -> int:
    """Return the address of a function that machine code calls: ep's own, Python's, the C library's, or Numba's."""
    if (own := _own.get(name)) is not None:
        return own
    try:
        found = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    except AttributeError:
        assert registry.cpu_target.target_context  # names Numba's functions for LLVM
        found = binding.address_of_symbol(name)
    if not found:
        raise RuntimeError(f"a kernel calls {name}, which is not in this process")
    return int(found)


@contextmanager
def _compiling() -> Iterator[None]:
    """Guard the compiling of a kernel: one thread at a time, with symbols unique to this process.

    Numba tells closures of the same name apart by a counter that restarts in every process. Where LLVM links kernels,
    those compiled by two processes could share a symbol, and one of them would run the other's code.
    """
    import secrets  # a process whose kernels are on disk does not need it

    from numba.core.bytecode import FunctionIdentity
    from numba.core.compiler_lock import global_compiler_lock

    with global_compiler_lock:
        counter = FunctionIdentity._unique_ids
        try:
            FunctionIdentity._unique_ids = itertools.count(secrets.randbits(62))
            yield
        finally:
            FunctionIdentity._unique_ids = counter


def _held(contents: bytes) -> tuple[list[str], bytes] | None:
    """Return the symbols and the machine code that a file holds; None if it lacks one of them."""
    symbols, _, machine_code = contents.partition(b"\0")
    return (symbols.decode().split(" "), machine_code) if symbols and symbols.isascii() and machine_code else None
