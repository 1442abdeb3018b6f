"""Puts the machine in the place of a GPU."""

from __future__ import annotations

from functools import cache

from ep.cuda.cuda_driver import CudaDriver
from ep.cuda.driver import is_simulated, use_driver
from ep.cuda.packages import why_no_compiler
from tests.cuda.ptx_machine.driver import PtxDriver


@cache
def install_without_gpu() -> None:
    """Let the machine be the CUDA device where kernels can be compiled, and there is neither a GPU nor the simulator.

    Called before the process first uses a CUDA device.
    """
    if not is_simulated() and not why_no_compiler() and CudaDriver().why_unavailable() is not None:
        use_driver(PtxDriver())
