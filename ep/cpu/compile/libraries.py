"""LLVM's modules of compiled functions: code is optimised as part of the kernels that it ends up in.

Numba optimises each function together with all that it calls, and makes machine code of it. A kernel is a chain of
functions, a dozen long, so the innermost would be optimised a dozen times; and nobody calls it but the next one.
"""

from __future__ import annotations

import re
from typing import Any, Final

from llvmlite.binding import create_new_module_pass_manager, parse_assembly
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys


class _Library(JITCodeLibrary):
    """Simplifies each function by itself: what is left to do for the kernels is less, and their loops are rotated."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:  # Numba takes as long for these
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)

    def add_linking_library(self, library: Any) -> None:
        if library is not rtsys.library:  # which counts references, of which there are none
            super().add_linking_library(library)


class InnerLibrary(_Library):
    """A function that others call. No machine code is made of it."""

    def finalize(self) -> None:
        self._finalized = True


class KernelLibrary(_Library):
    """A function that is called by its address, with all that it calls itself."""

    def add_linking_library(self, library: Any) -> None:
        if library not in self._linking_libraries:
            super().add_linking_library(library)
            if isinstance(library, InnerLibrary):
                for other in library._linking_libraries:
                    self.add_linking_library(other)

    def _optimize_final_module(self) -> None:
        super()._optimize_final_module()
        # what vectorised loops call instead of scalar functions (`vector_math/lookup.py`)
        passes = create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.run(self._final_module, self._codegen._pass_builder())


class StreamingLibrary(KernelLibrary):
    """A kernel whose vectors of results are written with non-temporal stores.

    What it writes must begin where a line of dst does.

    LLVM vectorises no loop of such stores of single elements, since it cannot know that the vectors are aligned. So
    this is said of the vectors that it has made: loops begin with them, and go on to narrower ones.
    """

    def _optimize_final_module(self) -> None:
        super()._optimize_final_module()
        name, text = self._final_module.name, _RESULTS.sub(_streamed, str(self._final_module))
        self._final_module = parse_assembly(f"{text}\n{_STREAMED} = !{{i32 1}}\n")
        self._final_module.name = name


_RESULTS: Final = re.compile(
    r"^(  store <(\d+) x ([a-z]+)(\d*)> [^\n]*), align 1(, [^\n]*!noalias ![^\n]*)$", re.MULTILINE
)
"""The stores of vectors that `storer` has marked; what kernels keep for themselves is not marked."""
_STREAMED: Final = "!1000000"
_LINE_BYTES: Final = 64
_LEAST_BYTES: Final = 16  # of a vector: there are no shorter non-temporal stores


def _streamed(store: re.Match[str]) -> str:
    begin, count, kind, bits, end = store.groups()
    size = int(count) * ({"float": 32, "double": 64, "half": 16}.get(kind) or int(bits)) // 8
    if size < _LEAST_BYTES or size & (size - 1):
        return store[0]
    if kind == "half" and "+avx512f" in cpu_target.target_context.codegen().magic_tuple()[2]:
        return _half_streamed(store, size)
    return f"{begin}, align {min(size, _LINE_BYTES)}{end}, !nontemporal {_STREAMED}"


def _half_streamed(store: re.Match[str], size: int) -> str:
    """Write a vector of float16 by an instruction: with AVX-512, LLVM makes an ordinary store of a non-temporal one."""
    found = re.fullmatch(r"  store (<\d+ x half>) (.+), ptr (\S+)", store[1])
    assert found is not None
    kind, value, pointer = found.groups()
    vector, name = f"<{size // 4} x i32>", f"%streamed.{store.start()}"
    return (
        f"  {name} = bitcast {kind} {value} to {vector}\n"
        f'  call void asm sideeffect "vmovntps $1, $0", "=*m,v"(ptr elementtype({vector}) {pointer}, {vector} {name})'
    )
