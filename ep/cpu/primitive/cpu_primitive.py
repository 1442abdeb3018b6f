"""What the CPU's primitives have in common: from the first Launch on, one call of compiled code."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from ep.common.attributes import attribute_values
from ep.common.compiling import compiling
from ep.cpu.launch_state import LaunchState
from ep.include.data_type import DataType
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.primitive.primitive import Primitive, Request


def _not_compiled(*args: Any) -> int:
    """Stands in for the compiled entry until there is one; every launch is then "not as expected"."""
    return 1


class CpuPrimitive(Primitive):
    """A primitive whose Launch calls a compiled entry, which checks its arguments and does the work.

    The entry answers 0 where all was as expected. Where it was not, nothing has been written, and `Launch` calls the
    primitive's `_launch_checked`: it raises what is wrong, or puts right what is only unusual (a subclass of ndarray,
    an equal dtype that is another object, a list for a tuple) and goes on with `_run`.
    """

    def __init__(self, request: Request, operands: Sequence[DataType]) -> None:
        """Make the launch state for `operands`, the data types of the buffers in the order of Launch."""
        super().__init__(request)
        self._state = LaunchState(operands, attribute_values(request))
        self._words = self._state.words
        self._entry: Callable[..., int] = _not_compiled

    @abstractmethod
    def _compile(self) -> tuple[Callable[..., int], int, int]:
        """Return the entry, the address of its task, and the task's argument (0 where it has none)."""

    def _compile_variants(self) -> None:
        """Compile what only some launches need, and otherwise compile themselves."""
        self._set_streaming()

    def Prepare(self) -> None:
        def prepare() -> None:
            self._set_entry()
            self._compile_variants()

        self._compiling(prepare)

    def _set_entry(self) -> None:
        """Compile what every launch needs, where that has not been done."""
        if self._entry is _not_compiled:
            from ep.cpu.kernels import runtime

            device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
            share = runtime.start(device)
            entry, task, argument = self._compile()
            self._state.set_code(device.settings_address, share, task, argument)
            self._entry = entry

    def _set_streaming(self) -> None:
        """Compile what launches need that write past the caches, where that has not been done."""
        from ep.cpu.kernels import runtime

        device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
        runtime.start_streaming(device)

    def _compiling(self, work: Callable[[], None]) -> None:
        """Do what compiles or imports Numba: see `compiling`."""
        compiling(self.request, "cpu", work)

    def _run(self, *args: Any) -> None:
        """Call the entry with arguments that have been checked in Python."""
        if self._entry is _not_compiled:
            self._compiling(self._set_entry)
        if self._entry(self._words, *args):
            self._compiling(self._set_streaming)
            if self._entry(self._words, *args) == 0:
                return
            raise RuntimeError(f"{self!r}: compiled checks refuse what the checks in Python accept: {args!r}")
