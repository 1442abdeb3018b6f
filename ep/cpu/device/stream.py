"""The CPU's streams. A launch has finished when `Launch` returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ep.common.host.device import HostStream
from ep.include.device import Device


class CpuStream(HostStream):
    """A stream of the CPU."""


class RecordingStream(CpuStream):
    """A stream whose launches are noted: Python does each, and compiled code does none without it."""

    def __init__(
        self, device: Device, note: Callable[[Any, Any, tuple[Any, ...]], None], *, computes: bool = True
    ) -> None:
        """note: it gets the primitive of each launch, its plan or None, and the other arguments of `_enter`. computes:
        whether the launches are done, too."""
        super().__init__(device)
        self.note, self.computes = note, computes
