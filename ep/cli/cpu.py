"""What the commands ask of the CPU beyond what all devices have: its name, and its threads."""

from __future__ import annotations

import platform

from ep.common.compiling import compiling
from ep.common.environment import CPU_NUM_THREADS
from ep.cpu.device import available_threads as available_threads
from ep.cpu.processor import information
from ep.include.device import Device


def processor() -> str:
    """The processor's name."""
    return information("model name") or platform.processor() or platform.machine()


def why_threads() -> str:
    """Where the number of threads comes from."""
    variable = CPU_NUM_THREADS.name
    if CPU_NUM_THREADS.text():
        return f"from {variable}"
    return f"all of the {available_threads()} processors that this process may use; {variable} changes it"


def start_threads(device: Device) -> None:
    """Start the threads that share the work of launches."""

    def start() -> None:
        from ep.cpu.threads import runtime

        runtime.start(device)  # type: ignore[arg-type]

    compiling("what all launches share", "cpu", start)
