"""The LLVM modules of compiled functions, as text. LLVM gets those of a kernel together: see `llvm.py`.

Numba optimises each function together with all functions that it calls, and compiles it to machine code. A kernel is a
chain of about a dozen functions, each called only by the next one, so the innermost would be optimised a dozen times.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, ClassVar

from numba.core import config
from numba.core.codegen import CodeLibrary
from numba.core.runtime.nrt import rtsys

from ep.common.native.elf import has_small_frames
from ep.cpu.compile.llvm import INTERLEAVED, Job, Machine, machine_code, optimised, target_machine
from ep.cpu.compile.target import has_avx512, of_kernels


class InnerLibrary(CodeLibrary):
    """The library of a function that only other compiled functions call. It is not compiled to machine code.

    texts: of its modules. calls: the libraries of the functions that it calls.
    """

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.texts: list[str] = []
        self.calls: list[Any] = []

    def add_ir_module(self, ir_module: Any) -> None:
        self.texts.append(str(ir_module).encode().decode("latin1"))  # the encoding in which LLVM gets it

    def add_linking_library(self, library: Any) -> None:
        library._ensure_finalized()
        if library is not rtsys.library:  # rtsys counts references, which kernels do not have
            self.calls.append(library)

    def finalize(self) -> None:
        self._finalized = True

    def get_function(self, name: str) -> Any:
        raise NotImplementedError("LLVM has no module of the functions of a library")

    def get_llvm_str(self) -> str:
        return "\n".join(self.texts)

    def get_asm_str(self) -> str:
        raise NotImplementedError("only kernels have machine code")


class KernelLibrary(InnerLibrary):
    """The library of a function called by its address, with all functions that it calls."""

    streams: ClassVar[bool] = False

    def job(self, vectors: int = INTERLEAVED) -> Job:
        """Return what LLVM compiles. vectors: that loops compute at a time which are marked so; fewer of them need less
        of the stack."""
        inner, finished = list[str](), list[str]()
        for library in _callers_first(self.calls):
            if isinstance(library, InnerLibrary):
                inner += library.texts
            else:  # Numba's own
                finished.append(library.get_llvm_str())
        return Job(_machine(), self.texts, inner, finished, vectors, self.streams, has_avx512())

    def machine_code(self, first: bytes | None = None) -> bytes:
        """Return the machine code: the first whose functions need no more of the stack than they may, or the last.
        first: that of INTERLEAVED vectors, if it has been compiled."""
        code = first or machine_code(self.job())
        for vectors in (INTERLEAVED // 2, 1):
            if has_small_frames(code):
                break
            code = machine_code(self.job(vectors))
        return code

    def get_llvm_str(self) -> str:
        return str(optimised(self.job()))

    def get_asm_str(self) -> str:
        assembly: str = target_machine(_machine()).emit_assembly(optimised(self.job()))
        return assembly


class StreamingLibrary(KernelLibrary):
    """The library of a kernel with non-temporal stores. It must begin to write at the start of a cache line of dst."""

    streams = True


@cache
def _machine() -> Machine:
    """Return what kernels are compiled for, as Numba is configured."""
    options: Any = config  # the module fills itself
    target, level = of_kernels(), options.OPT
    first, in_first = (3, True) if level.is_opt_max else (0, False)
    vectorizes = in_first, bool(options.LOOP_VECTORIZE), bool(options.SLP_VECTORIZE)
    option = "-vector-library=SVML" if options.USING_SVML else ""  # which Numba has set in this process
    return Machine(target.triple, target.processor, target.features, int(level), first, vectorizes, option)


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
                visit(library.calls if isinstance(library, InnerLibrary) else ())
                callees_first[library] = None

    visit(libraries)
    return list(reversed(callees_first))
