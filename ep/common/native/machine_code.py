"""Machine code of host functions: compiled, or placed in memory from a kernel cache without a compiler.

A file of the cache holds machine code and the names of the symbols to call.
"""

from __future__ import annotations

import ctypes
import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, Final, NamedTuple

from ep.common import notice
from ep.common.kernel_cache.cache import KernelCache
from ep.common.kernel_cache.statistics import Statistics
from ep.common.native import elf
from ep.common.native.compilers import chosen, why_documented
from ep.common.native.on_demand import binding, registry
from ep.common.native.target import target

LIBRARIES: Final[list[Any]] = []
"""All libraries compiled so far. They show the code of kernels: `get_asm_str`, `get_llvm_str`."""

_own: Final[dict[str, int]] = {}
"""The addresses of functions that machine code calls by names of ep's own."""


class NotOnDiskError(Exception):
    """Raised for a kernel that an earlier process wrote to the disk, and that is no longer there."""


class UnusableError(RuntimeError):
    """Raised for machine code that lacks a function, or calls one that is not in this process."""


class Origin(NamedTuple):
    """A function on disk: the file of its kernel, and its place among the kernel's functions."""

    file_name: str
    number: int


_origins: Final[dict[int, Origin]] = {}
_of_files: Final[dict[str, tuple[int, ...]]] = {}
_not_loaded: Final[dict[str, tuple[KernelCache, Origin]]] = {}
"""Functions that are loaded when machine code that calls them by name is."""


def function_addresses(
    cache: KernelCache,
    statistics: Statistics,
    name: str,
    made_of: object,
    to: str,
    compiled: Callable[[str | None], tuple[Any, list[str], bytes]],
    documented: Callable[[], tuple[int, ...]],
) -> tuple[int, ...]:
    """Return the addresses of a kernel's functions, from the cache or as compiled now.

    compiled: returns a library, the symbols of the functions and the machine code, for the name of the kernel's file.
    made_of: the function or functions that are compiled. to: the form they are compiled to.
    documented: returns the addresses if Numba compiles as its manual describes it; nothing is read from the cache then.
    """
    statistics.names.append(name)
    of = target(cache)
    variant = hashlib.sha256(repr((to, of)).encode()).hexdigest()[:12]
    file_name = cache.file_name(name, variant, made_of)
    if chosen() is None and (found := _read(cache, file_name)) is not None:
        statistics.loaded += 1
        return found
    if why_documented():
        return _in_this_process(statistics, file_name, documented)
    with notice.compiling(), _compiling(), statistics.compiling():
        import_module("ep.common.native.pointers")  # it tells Numba about records
        target(cache)  # as Numba has it, which is loaded now
        library, symbols, machine_code = compiled(file_name)
    LIBRARIES.append(library)
    file_name = cache.file_name(name, variant, made_of)  # again: modules imported to compile it may have been edited
    cache.write(file_name, b"\0".join((" ".join(symbols).encode(), machine_code)))
    return _known(file_name, _placed(machine_code, symbols))


def _in_this_process(
    statistics: Statistics, file_name: str | None, documented: Callable[[], tuple[int, ...]]
) -> tuple[int, ...]:
    """Return the addresses of functions that are compiled once in a process, by the name that their file would have."""
    if (found := _of_this_process.get(file_name)) is not None:
        return found
    with notice.compiling(), statistics.compiling():
        import_module("ep.common.native.pointers")  # it tells Numba about records
        _add_symbols()
        found = documented()
    if file_name is not None:
        _of_this_process[file_name] = found
    return found


_of_this_process: Final[dict[str | None, tuple[int, ...]]] = {}


def functions_on_disk(cache: KernelCache, file_name: str) -> tuple[int, ...]:
    """Return the addresses of the functions of a kernel's file, which is read once.

    Raises NotOnDiskError if it, or a kernel that it calls, cannot be read.
    """
    found = _of_files.get(file_name) or _read(cache, file_name)
    if found is None:
        raise NotOnDiskError(file_name)
    return found


def origin_of(address: int) -> Origin | None:
    """Return where the function at `address` is on disk; None if there is no such function, or if it is not kept."""
    return _origins.get(address)


def named_functions() -> dict[str, Origin]:
    """Return where the functions are on disk that machine code calls by names of ep's own, by their names."""
    return {name: origin for name, address in tuple(_own.items()) if (origin := _origins.get(address)) is not None}


def name_functions_on_disk(cache: KernelCache, named: Mapping[str, Origin]) -> None:
    """Let machine code call functions on disk by name. They are loaded with the first code that does."""
    _not_loaded.update((name, (cache, origin)) for name, origin in named.items() if name not in _own)


def name_function(name: str, address: int) -> None:
    """Let machine code call the function at `address` by `name`. The name begins with "ep."."""
    _own[name] = address


def _read(cache: KernelCache, file_name: str | None) -> tuple[int, ...] | None:
    """Return the addresses of the functions of a file, placed in memory; None if there is no file of use."""
    found = cache.read(file_name, _loaded)
    return None if found is None else _known(file_name, found)


def _loaded(contents: bytes) -> tuple[int, ...] | None:
    """Return the addresses of the functions that a file holds, placed in memory; None if they cannot be called."""
    if (held := _held(contents)) is None:
        return None
    symbols, machine_code = held
    try:
        return _placed(machine_code, symbols)
    except (UnusableError, NotOnDiskError):
        return None


def _known(file_name: str | None, addresses: tuple[int, ...]) -> tuple[int, ...]:
    """Note which functions a file has."""
    if file_name is not None:
        _of_files[file_name] = addresses
        _origins.update((address, Origin(file_name, number)) for number, address in enumerate(addresses))
    return addresses


def _placed(machine_code: bytes, symbols: Sequence[str]) -> tuple[int, ...]:
    """Return the addresses of functions in machine code, which is placed in memory, or linked by LLVM.

    Raises UnusableError.
    """
    try:
        return elf.place(machine_code, symbols, _address_of)
    except elf.DamagedError as error:
        raise UnusableError(f"machine code of {', '.join(symbols)} cannot be used: {error}") from error
    except elf.NotPlaceableError:  # for another system or processor
        return _linked(machine_code, symbols)


def _linked(machine_code: bytes, symbols: Sequence[str]) -> tuple[int, ...]:
    from numba.core.compiler_lock import global_compiler_lock

    _add_symbols()
    for name in elf.undefined(machine_code):  # LLVM ends the process, or calls nothing, where one is missing
        _address_of(name)
    with global_compiler_lock:
        engine = registry.cpu_target.target_context.codegen()._engine
        engine._ee.add_object_file(binding.ObjectFileRef.from_data(machine_code))
        found = tuple(int(engine.get_function_address(symbol)) for symbol in symbols)
    if missing := [symbol for symbol, address in zip(symbols, found, strict=True) if not address]:
        raise UnusableError(f"machine code has no function {', '.join(missing)}")
    return found


def _add_symbols() -> None:
    """Name ep's own functions for the code that LLVM links."""
    for name in tuple(_not_loaded):
        with suppress(NotOnDiskError):  # other code may call it
            _load(name)
    for name, address in tuple(_own.items()):
        binding.add_symbol(name, address)


def _address_of(name: str) -> int:
    """Return the address of a function that machine code calls: ep's own, Python's, the C library's, or Numba's."""
    if (own := _own.get(name) or _load(name)) is not None:
        return own
    try:
        found = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    except AttributeError:
        assert registry.cpu_target.target_context  # names Numba's functions for LLVM
        found = binding.address_of_symbol(name)
    if not found:
        raise UnusableError(f"a kernel calls {name}, which is not in this process")
    return int(found)


def _load(name: str) -> int | None:
    """Load a function that machine code calls by `name`, and return its address; None if none is on disk."""
    if (known := _not_loaded.get(name)) is None:
        return None
    cache, origin = known
    found = functions_on_disk(cache, origin.file_name)
    if not 0 <= origin.number < len(found):
        raise NotOnDiskError(origin.file_name)
    return _own.setdefault(name, found[origin.number])


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
