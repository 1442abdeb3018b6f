"""The LLVM modules of compiled functions, which are optimised as part of the kernels that include them.

Numba optimises each function together with all functions that it calls, and compiles it to machine code. A kernel is a
chain of about a dozen functions, each called only by the next one, so the innermost would be optimised a dozen times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from llvmlite.binding import create_new_module_pass_manager, parse_assembly
from numba.core.codegen import JITCodeLibrary
from numba.core.runtime import rtsys

from ep.cpu.compile.target import has_avx512
from ep.cpu.compile.vectors import INTERLEAVED, ORDINARY_STORES


class _Library(JITCodeLibrary):
    """A library that first simplifies each function by itself: this leaves less work for kernels, and rotates loops."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:  # Numba's passes take as long for a declaration
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)

    def add_linking_library(self, library: Any) -> None:
        if library is not rtsys.library:  # rtsys counts references, which kernels do not have
            super().add_linking_library(library)


class InnerLibrary(_Library):
    """The library of a function that only other compiled functions call. It is not compiled to machine code."""

    def finalize(self) -> None:
        self._finalized = True


class KernelLibrary(_Library):
    """The library of a function called by its address, with all functions that it calls."""

    def finalize(self) -> None:
        self._linking_libraries = _callers_first(self._linking_libraries)
        super().finalize()

    def _finalize_final_module(self) -> None:
        self._finalized = True  # Numba would compile and link it

    def _optimize_final_module(self) -> None:
        if _interleaved[-1] != INTERLEAVED:
            name, text = self._final_module.name, _COUNTS.sub(rf"\g<1>{_interleaved[-1]}", str(self._final_module))
            self._final_module = parse_assembly(text)
            self._final_module.name = name
        super()._optimize_final_module()
        # inline the functions that vectorised loops call in place of scalar ones (`vector_math/lookup.py`)
        passes = create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.run(self._final_module, self._codegen._pass_builder())


_interleaved: Final = [INTERLEAVED]
_COUNTS: Final = re.compile(r'(!"llvm\.loop\.interleave\.count", i32 )\d+')


@contextmanager
def with_interleaving(vectors: int) -> Iterator[None]:
    """Compile loops that are marked to compute several vectors at a time for this number of vectors.

    With fewer vectors, less is kept on the stack.
    """
    _interleaved.append(vectors)
    try:
        yield
    finally:
        _interleaved.pop()


def _callers_first(libraries: Iterable[Any]) -> list[Any]:
    """Return the libraries and all inner libraries that they link, each before the libraries that it links.

    LLVM links a function only if the kernel refers to it by then. The code of a library that lists another one may no
    longer call it: such a call was in a branch that LLVM removed. So a library comes after all that may call it.
    """
    callees_first: dict[Any, None] = {}
    seen: set[Any] = set()

    def visit(some: Iterable[Any]) -> None:
        for library in some:
            if library not in seen:
                seen.add(library)
                visit(library._linking_libraries if isinstance(library, InnerLibrary) else ())
                callees_first[library] = None

    visit(libraries)
    return list(reversed(callees_first))


class StreamingLibrary(KernelLibrary):
    """The library of a kernel with non-temporal stores. It must begin to write at the start of a cache line of dst.

    LLVM does not vectorise a loop of non-temporal stores of single elements, since it cannot know that the vectors are
    aligned. So the vector stores are marked after vectorisation: loops begin with whole vectors and continue with
    narrower ones.
    """

    def _optimize_final_module(self) -> None:
        super()._optimize_final_module()
        name, text = self._final_module.name, str(self._final_module)
        ordinary = _ordinary_lists(text)
        text = _RESULTS.sub(lambda store: store[0] if store[6] in ordinary else _streamed(store), text)
        self._final_module = parse_assembly(f"{text}\n{_STREAMED} = !{{i32 1}}\n")
        self._final_module.name = name


_RESULTS: Final = re.compile(
    r"^(  store <(\d+) x ([a-z]+)(\d*)> [^\n]*), align 1(, [^\n]*!noalias !(\d+)[^\n]*)$", re.MULTILINE
)
"""The vector stores that `storer` has marked; stores to a kernel's own buffers are not marked."""
_STREAMED: Final = "!1000000"
_LINE_BYTES: Final = 64
_LEAST_BYTES: Final = 16  # bytes of the shortest vector that has a non-temporal store


def _ordinary_lists(text: str) -> set[str]:
    """Return the numbers of the lists of scopes that have the one of ordinary stores."""
    scopes = re.findall(rf'^!(\d+) = .*!"{ORDINARY_STORES}"', text, re.MULTILINE)
    lists = re.findall(r"^!(\d+) = !{(!\d+(?:, !\d+)*)}$", text, re.MULTILINE)
    return {number for number, members in lists if any(f"!{one}" in members.split(", ") for one in scopes)}


def _streamed(store: re.Match[str]) -> str:
    begin, count, kind, bits, end, _ = store.groups()
    size = int(count) * ({"float": 32, "double": 64, "half": 16}.get(kind) or int(bits)) // 8
    if size < _LEAST_BYTES or size & (size - 1):
        return store[0]
    if kind == "half" and has_avx512():
        return _half_streamed(store, size)
    return f"{begin}, align {min(size, _LINE_BYTES)}{end}, !nontemporal {_STREAMED}"


def _half_streamed(store: re.Match[str], size: int) -> str:
    """Store a float16 vector by an instruction: with AVX-512, LLVM turns a non-temporal store into an ordinary one."""
    found = re.fullmatch(r"  store (<\d+ x half>) (.+), ptr (\S+)", store[1])
    assert found is not None
    kind, value, pointer = found.groups()
    vector, name = f"<{size // 4} x i32>", f"%streamed.{store.start()}"
    return (
        f"  {name} = bitcast {kind} {value} to {vector}\n"
        f'  call void asm sideeffect "vmovntps $1, $0", "=*m,v"(ptr elementtype({vector}) {pointer}, {vector} {name})'
    )
