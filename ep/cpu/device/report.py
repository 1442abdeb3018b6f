"""The findings of `ep doctor` on the CPU: the processor, the threads, and large launches."""

from __future__ import annotations

import platform

from ep.common.compiling import compiling
from ep.common.environment import CPU_NUM_THREADS
from ep.common.kernel_cache.versions import version
from ep.common.native.compilers import why_documented
from ep.common.processors import available_threads, information
from ep.cpu.machine.processor import why_unfit
from ep.cpu.shared.settings import Settings
from ep.include.finding import Finding


def processor() -> Finding:
    """Return the processor's name, and the reason why kernels cannot run on it, if any."""
    name, why = information("model name") or platform.processor() or platform.machine(), why_unfit()
    return Finding("processor", "fail", f"{name}: {why}") if why else Finding("processor", "pass", name)


def compiler() -> Finding:
    """Return which compiler makes the machine code of kernels, and why."""
    why = why_documented()
    if why is None:
        return Finding("compiler", "pass", f"ep's own: Numba {version('numba')} has all names that it uses")
    details = f"Numba, as its manual describes it: {why}. Kernels are compiled more slowly, and anew in each process"
    return Finding("compiler", "pass", details)


def threads(device: Settings) -> Finding:
    """Return the number of threads that share the work of launches, after starting them."""
    compiling("what all launches share", "cpu", lambda: _start_threads(device))
    return Finding("threads", "pass", f"{device.GetNumThreads()}: {why_threads()}")


def calibration(device: Settings) -> str:
    """Return the sizes from which launches use non-temporal stores. They are measured if they have not been yet."""
    compiling("the calibration of non-temporal stores", "cpu", lambda: _calibrate(device))
    found = device.calibration()
    return found.in_words() if found else "unknown"


def large_launches(device: Settings) -> Finding:
    """Return the finding on large launches, for the current number of threads."""
    return Finding("large launches", "pass", calibration(device))


def _calibrate(device: Settings) -> None:
    from ep.cpu.device import runtime

    runtime.start_streaming(device, settle=True)


def _start_threads(device: Settings) -> None:
    from ep.cpu.device import runtime

    runtime.start(device)


def why_threads() -> str:
    """Return the origin of the number of threads."""
    variable = CPU_NUM_THREADS.name
    if CPU_NUM_THREADS.text():
        return f"from {variable}"
    return f"all of the {available_threads()} processors that this process may use; {variable} changes it"
