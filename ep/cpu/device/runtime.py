"""The start of the threads, and of the code that shares the work of launches among them."""

from __future__ import annotations

import time
from typing import Final

from ep.cpu.lines import probe, streaming
from ep.cpu.machine import calibration
from ep.cpu.machine.kernel_cache import CACHE
from ep.cpu.shared.settings import Settings
from ep.cpu.threads import thread_pool
from ep.cpu.threads.workers import start_threads

_APART: Final = 1.0  # seconds between measurements, so that a short disturbance does not affect more than one


def start(device: Settings) -> int:
    """Start the threads of `device`, and return the address of the task that shares work among them."""
    start_threads(device, thread_pool.work)
    return thread_pool.share()


def compile_streaming() -> None:
    """Compile the tasks of launches with non-temporal stores, and the tasks that measure when these are faster."""
    streaming.stream()
    probe.tasks()


def start_streaming(device: Settings, settle: bool = False) -> None:
    """Make launches of `device` use non-temporal stores from the size on at which they are faster.

    This size is measured if necessary.
    settle: measure as often as several processes would.
    """
    num_threads = device.GetNumThreads()
    if settle or device.calibration() is None:
        file_name = CACHE.file_name(calibration.name(num_threads), calibration.VERSION, probe.measure)
        kept = CACHE.read(file_name, lambda contents: calibration.unpacked(contents, probe.NUM_TIMES))
        while kept is None or kept.again > 0:
            start(device)
            kept = probe.measure(device.settings(), thread_pool.share(), num_threads, kept)
            CACHE.write(file_name, calibration.packed(kept))
            if not settle:
                break
            time.sleep(_APART)
        device.set_calibration(kept.calibration, num_threads)
    device.set_stream(streaming.stream())
