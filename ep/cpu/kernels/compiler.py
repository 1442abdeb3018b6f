"""Compiles kernels, or loads them from the disk cache.

Two kinds of code are compiled. A *task* is called by compiled code through its address; its arguments are words.
An *entry* is called by Python. Both are ordinary Numba functions; what differs from `@njit(cache=True)` is that each
kernel has a file of its own, named by what it computes: Numba's index would be one file per source function, shared
by all keys of a primitive, and it never finds a closure again.
"""

from __future__ import annotations

import gc
import hashlib
import itertools
import pickle
import secrets
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from numba import njit
from numba.core import types
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import NullCache
from numba.core.ccallback import CFunc
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.serialize import dumps

from ep.common import notice
from ep.cpu import kernel_cache
from ep.cpu.kernels.jit import OPTIONS, OUTER
from ep.cpu.kernels.lowering import Kernel


@dataclass(slots=True)
class Statistics:
    """What this process has done so far: the number of kernels loaded from the cache, and of kernels compiled."""

    loaded: int = 0
    compiled: int = 0


statistics: Final = Statistics()


class _KernelCache(NullCache):
    """Numba's cache interface, for one kernel: one file."""

    _unwritable = False

    def __init__(self, name: str) -> None:
        self._name = name

    def _file_name(self, signature: Any, codegen: Any) -> str:
        digest = hashlib.sha256(repr((str(signature), codegen.magic_tuple())).encode()).hexdigest()[:12]
        return f"{self._name}-{digest}.kernel"

    def load_overload(self, signature: Any, target_context: Any) -> CompileResult | None:
        """As Numba's, without `target_context.refresh()`, which imports all that may be needed to compile anything.

        That is most of what a first launch would take. Kernels refer to functions of the C library, of Python, and to
        those of Numba's that are there from the start.
        """
        contents = kernel_cache.read(self._file_name(signature, target_context.codegen()))
        if contents is None:
            notice.compiling()
            return None
        try:
            result = CompileResult._rebuild(target_context, *pickle.loads(contents))
        except Exception as error:  # a damaged file can fail in any way, and compiling again mends it
            warnings.warn(
                f"the cached kernel {self._name} cannot be read and is compiled again: {error!r}", stacklevel=2
            )
            return None
        statistics.loaded += 1
        return result

    def save_overload(self, signature: Any, result: CompileResult) -> None:
        statistics.compiled += 1
        if _KernelCache._unwritable:
            return
        try:
            kernel_cache.write(self._file_name(signature, result.codegen), dumps(result._reduce()))
        except OSError as error:
            _KernelCache._unwritable = True
            warnings.warn(f"compiled kernels cannot be kept for the next process: {error}", stacklevel=2)


@contextmanager
def _compiling() -> Iterator[None]:
    """Around all that compiles or loads a kernel: one thread at a time, with symbols that no other process gives.

    Numba tells closures of one name apart by a counter that starts anew in every process. Kernels that two processes
    compiled could have a symbol in common, and one of them would run the other's code once both are loaded.

    Garbage waits meanwhile: what Numba allocates would have it collected over and over, a fifth of the time.
    """
    with global_compiler_lock:
        counter, collects = FunctionIdentity._unique_ids, gc.isenabled()
        try:
            FunctionIdentity._unique_ids = itertools.count(secrets.randbits(62))
            gc.disable()
            yield
        finally:
            FunctionIdentity._unique_ids = counter
            if collects:
                gc.enable()


def compile_task(name: str, function: Callable[..., None], num_words: int = 3) -> int:
    """Return the address of `function` as a C function of `num_words` int64 arguments that returns nothing.

    name: what the kernel computes, unique among all kernels and fit for a file name.
    """
    with _compiling():
        signature, options = ((types.int64,) * num_words, types.void), {"nopython": True, **OPTIONS}
        task = CFunc(function, signature, {}, options, pipeline_class=Kernel)
        task._cache = _KernelCache(name)
        task.compile()
    _keep.append(task)
    return task.address  # type: ignore[no-any-return]


def compile_entry(name: str, function: Callable[..., int], argument_types: tuple[Any, ...]) -> Callable[..., int]:
    """Return `function`, compiled for `argument_types`, as a Python callable without Numba's dispatch around it."""
    with _compiling():
        dispatcher = njit(**OUTER)(function)
        dispatcher._cache = _KernelCache(name)
        entry = dispatcher.compile(types.int64(*argument_types))
    _keep.append(dispatcher)
    return entry  # type: ignore[no-any-return]


_keep: Final[list[object]] = []
"""Everything compiled so far: machine code must outlive the addresses that were taken of it."""
