"""Makes the machine replace a GPU."""

from __future__ import annotations

from functools import cache

from ep.cuda.driver.cublas_lt import use_functions
from ep.cuda.driver.cuda_driver import CudaDriver
from ep.cuda.driver.current import use_driver
from ep.cuda.driver.packages import why_no_kernels
from tests.cuda.ptx_machine.cublas_lt import HostCublasLt
from tests.cuda.ptx_machine.driver import PtxDriver


@cache
def install_without_gpu() -> bool:
    """Make the machine the CUDA device if kernels can be compiled and there is no GPU.

    Return whether it is. Call this before the process first uses a CUDA device.
    """
    if why_no_kernels() or CudaDriver().why_unavailable() is None:
        return False
    driver = PtxDriver()
    use_driver(driver)
    use_functions(HostCublasLt(driver))
    return True
