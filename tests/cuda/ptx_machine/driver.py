"""The device that the machine is to the package: a GPU whose memory is the host's and that does everything at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ep.cuda.driver.interface import DeviceProperties
from ep.cuda.driver.simulated_driver import SimulatedDriver
from ep.include.device import kMaxAlignmentRequirement

_MULTIPROCESSORS, _BLOCKS = 2, 1
"""Few, so that data of a test crosses the grid."""


class PtxDriver(SimulatedDriver):
    """Runs kernels from their PTX. A launch raises PtxError at once where a GPU might do anything."""

    simulated = False
    loads_ptx = True

    def __init__(self) -> None:
        super().__init__()
        self.programs: list[Any] = []
        """All that were loaded so far."""
        self.deviation = 0
        """Where a GPU approximates: 0 for exact results, 1 or -1 for as far above or below as they may be."""

    def properties(self, device: int) -> DeviceProperties:
        simulated = super().properties(device)
        return replace(simulated, name="PTX on the CPU", multiprocessors=_MULTIPROCESSORS)

    def max_active_blocks(self, device: int, function: Any, block_threads: int, shared_bytes: int = 0) -> int:
        return _BLOCKS

    def load_function(self, device: int, image: Any, name: str) -> Any:
        from tests.cuda.ptx_machine.machine import Program

        text = bytes(image).decode()
        program = Program(text, text.partition("\n")[0].removeprefix("// "))
        self.programs.append(program)
        return program

    def _run(
        self, function: Any, grid: tuple[int, ...], block: tuple[int, ...], shared_bytes: int, words: list[int]
    ) -> None:
        with self._one_launch:
            function.launch(grid, block, shared_bytes, words, self._ranges(), self.deviation)

    def _ranges(self) -> list[tuple[int, int]]:
        """The memory that kernels may access: what the driver has allocated."""
        with self._lock:
            return [(at, at + block.size - kMaxAlignmentRequirement) for at, block in self._blocks.items()]
