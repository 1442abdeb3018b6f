"""Compiles kernels to cubins, or loads them from the disk cache.

A kernel is a Python function of words (int64): addresses, sizes, and the bits of attributes. Numba compiles it to PTX,
and nvJitLink of the same release compiles this to a cubin, so the driver may be older than the PTX version. Neither
step needs a device.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ep.common import notice
from ep.common.kernel_cache.statistics import Statistics
from ep.cuda.compile import numba_cuda
from ep.cuda.compile.kernel_cache import KERNELS
from ep.cuda.compile.kernel_words import Shape, shapes_of
from ep.cuda.driver.limits import OLDEST_CAPABILITY

ENTRY: Final = "ep_kernel"
"""The name of the one kernel in a cubin."""


@dataclass(frozen=True)
class KernelSource:
    """A kernel that can be compiled.

    name: describes the computation; unique among all kernels, and valid as a file name.
    function: its arguments are words, tuples of them, and records, as its annotations say (`kernel_words.py`); returns
    nothing. lengths: those of the tuples, also of those in records.
    is_contracted: whether only NVVM decides which products and sums are fused. The assembler would fuse others,
    depending on the surrounding code: kernels of one op and of several ops would differ in their last bits.
    items_per_thread: the most items that a thread processes, for a grid of all the blocks that this takes; 0 for a
    grid-stride loop.
    """

    name: str
    function: Callable[..., None]
    lengths: tuple[int, ...] = ()
    is_contracted: bool = False
    items_per_thread: int = 0

    @property
    def shapes(self) -> list[Shape]:
        """The shapes of the arguments."""
        return shapes_of(self.function, self.lengths)


def image(kernel: KernelSource, cc: tuple[int, int], as_ptx: bool) -> bytes:
    """Return what the driver loads for a device of compute capability `cc`: a cubin or PTX."""
    if as_ptx:
        return _kept(kernel, cc, "ptx", lambda: ptx(kernel, cc).encode())
    return cubin(kernel, cc)


_UNROUNDED: Final = re.compile(r"\b(add|sub|mul)\.(f32|f64)\b")
"""Products and sums that the assembler may fuse, since they have no rounding modifier."""


def ptx(kernel: KernelSource, cc: tuple[int, int]) -> str:
    """Return the PTX of a kernel, whose entry is named ENTRY and whose first line has its name.

    It is compiled at each call.
    """
    text = numba_cuda.compile_kernel(kernel.function, kernel.shapes, cc)
    (name,) = re.findall(r"\.entry\s+([\w$]+)", text)
    text = _UNROUNDED.sub(r"\1.rn.\2", text) if kernel.is_contracted else text
    return f"// {kernel.name}\n" + re.sub(rf"(?<![\w$]){re.escape(name)}", ENTRY, text)


statistics: Final = Statistics()


def cubin(kernel: KernelSource, cc: tuple[int, int]) -> bytes:
    """Return the machine code of a kernel, from the disk cache if it has it.

    The cache may have the PTX, from tests on a machine without a GPU: to assemble it takes a tenth of the time.
    """

    def make() -> bytes:
        text = _on_disk(kernel, cc, "ptx")
        return assemble(ptx(kernel, cc) if text is None else text.decode(), cc)

    return _kept(kernel, cc, "sm", make)


def file_name(kernel: KernelSource, cc: tuple[int, int], form: str) -> str | None:
    """Return the name of a kernel's file in KERNELS; None if its sources are unknown. form: "ptx" or "sm"."""
    return KERNELS.file_name(kernel.name, f"{form}_{cc[0]}{cc[1]}", kernel.function)


def _on_disk(kernel: KernelSource, cc: tuple[int, int], form: str) -> bytes | None:
    return KERNELS.read(file_name(kernel, cc, form), lambda contents: contents or None)


def _kept(kernel: KernelSource, cc: tuple[int, int], form: str, make: Callable[[], bytes]) -> bytes:
    """Return the code that `make` compiles, from the disk cache if it has it."""
    statistics.names.append(kernel.name)
    if kept := _on_disk(kernel, cc, form):
        statistics.loaded += 1
        return kept
    if cc < OLDEST_CAPABILITY:
        oldest = ".".join(map(str, OLDEST_CAPABILITY))
        raise RuntimeError(f"the GPU is of compute capability {cc[0]}.{cc[1]}; kernels need {oldest}")
    with notice.compiling(), statistics.compiling():
        contents = make()
    KERNELS.write(file_name(kernel, cc, form), contents)
    return contents


def assemble(text: str, cc: tuple[int, int]) -> bytes:
    """Return the cubin of a PTX text; RuntimeError, with the message of the assembler, if it refuses the text."""
    from cuda.bindings import nvjitlink

    text = _for_linker(text, nvjitlink.version())
    options = [f"-arch=sm_{cc[0]}{cc[1]}"]
    linker = nvjitlink.create(len(options), options)
    try:
        code = text.encode() + b"\0"
        try:
            nvjitlink.add_data(linker, nvjitlink.InputType.PTX, code, len(code), ENTRY)
            nvjitlink.complete(linker)
        except nvjitlink.nvJitLinkError as error:
            log = bytearray(nvjitlink.get_error_log_size(linker))
            nvjitlink.get_error_log(linker, log)
            raise RuntimeError(f"nvJitLink refuses a kernel: {log.decode(errors='replace')}") from error
        contents = bytearray(nvjitlink.get_linked_cubin_size(linker))
        nvjitlink.get_linked_cubin(linker, contents)
        return bytes(contents)
    finally:
        nvjitlink.destroy(linker)


def _for_linker(text: str, release: tuple[int, int]) -> str:
    """Return PTX that a linker of an older 13.x accepts, which PyTorch may have pinned: 13.n reads PTX up to 9.n.

    Kernels use no newer features; only the version number in the text is newer.
    """
    newest = release[0] - 4, release[1]

    def lowered(match: re.Match[str]) -> str:
        major, minor = min((int(match[1]), int(match[2])), newest)
        return f".version {major}.{minor}"

    return re.sub(r"(?m)^\.version (\d+)\.(\d+)", lowered, text, count=1)
