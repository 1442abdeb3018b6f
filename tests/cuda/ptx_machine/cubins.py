"""A plugin of pytest: kernels run from their PTX as planned for an H200, and their cubins are kept on disk, too.

`pytest -p tests.cuda.ptx_machine.cubins --ep-device cuda` leaves the kernels that the same tests launch on an H200.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from ep.cuda.compile import compiler
from ep.cuda.driver.current import driver
from tests.cuda.ptx_machine.install import install_without_gpu
from tests.cuda.ptx_machine.limits import Limits

_MULTIPROCESSORS: Final = 132
_SHARED_BYTES, _WITHOUT_OPT_IN = 227 * 1024, 48 * 1024
_THREADS: Final = 2048


def _install() -> None:
    if not install_without_gpu():
        raise RuntimeError("kernels cannot be compiled here, or there is a GPU")
    machine: Any = driver()
    properties, image = machine.properties, compiler.image

    def as_h200(device: int) -> Any:
        return replace(properties(device), multiprocessors=_MULTIPROCESSORS)

    def image_and_cubin(kernel: Any, cc: tuple[int, int], as_ptx: bool) -> bytes:
        found = image(kernel, cc, as_ptx)
        compiler.cubin(kernel, cc)
        return found

    machine.properties, machine.limits = as_h200, Limits(_SHARED_BYTES, _WITHOUT_OPT_IN)
    machine.max_active_blocks = lambda device, function, threads, shared_bytes=0: _THREADS // threads
    compiler.image = image_and_cubin


_install()
