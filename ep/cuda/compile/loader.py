"""Kernels loaded on a device, ready to be launched again and again."""

from __future__ import annotations

import struct
from typing import Any, Final

from ep.cuda.compile import compiler
from ep.cuda.compile.kernel_words import count_words
from ep.cuda.compile.launch_config import BLOCK_THREADS, MAX_BLOCKS, Dim3, Grid, num_blocks
from ep.cuda.device.stream import CudaStream
from ep.cuda.driver.interface import Driver, ParameterBlock

_THREADS: Final = BLOCK_THREADS, 1, 1
_loaded: Final[dict[tuple[int, str], LoadedKernel]] = {}


class LoadedKernel:
    """A kernel on one device. `launch` may be called from several threads at once, and captured in a CUDA graph."""

    def __init__(self, driver: Driver, device: int, kernel: compiler.KernelSource) -> None:
        """Compile the kernel, or take it from the disk cache, and load it."""
        properties = driver.properties(device)
        code = compiler.image(kernel, properties.compute_capability, driver.loads_ptx)
        self._function = driver.load_function(device, code, compiler.ENTRY)
        active = driver.max_active_blocks(device, self._function, BLOCK_THREADS)
        self.resident_blocks: int = properties.multiprocessors * active
        """The blocks that the device holds at a time."""
        per_thread = kernel.items_per_thread
        self._most_blocks = MAX_BLOCKS if per_thread else self.resident_blocks
        self._of_block = BLOCK_THREADS * (per_thread or 1)
        self._driver, self._device, self._name = driver, device, kernel.name
        self.static_shared: int = driver.static_shared(device, self._function)
        """The bytes of shared memory that a block has without those that a launch asks for."""
        self._most_dynamic = max(properties.shared_bytes_without_opt_in - self.static_shared, 0)  # as CUDA documents it
        self._num_words = count_words(kernel.shapes)
        self._pack_into = struct.Struct(f"{self._num_words}q").pack_into
        self._blocks: list[ParameterBlock] = []  # those that no launch is using

    def launch(self, stream: CudaStream, num_items: int, *words: int) -> None:
        """Queue the kernel on `stream` with threads for `num_items` > 0 items."""
        blocks = num_blocks(num_items, self._most_blocks, self._of_block)
        self._launch(stream, (blocks, 1, 1), _THREADS, 0, words)

    def launch_grid(self, stream: CudaStream, grid: Grid, *words: int) -> None:
        """Queue the kernel on `stream` with the blocks and threads of `grid`.

        Raises RuntimeError if a block needs more shared memory than the device has for one.
        """
        if grid.shared_bytes > self._most_dynamic:
            self._opt_in(grid.shared_bytes, stream.shared_bytes)
        self._launch(stream, *grid, words)

    def _opt_in(self, dynamic: int, most: int) -> None:
        """Opt in to all shared memory that is not static. Threads may do so at once.

        dynamic: the bytes that a launch needs; most: those of a block on the device.
        """
        static = self.static_shared
        if static + dynamic > most:
            raise RuntimeError(
                f"{self._name}: a block needs {static + dynamic} bytes of shared memory ({static} static, {dynamic} "
                f"dynamic), and {self._driver.properties(self._device).name} has {most} for a block"
            )
        self._driver.opt_in_shared(self._device, self._function, most - static)
        self._most_dynamic = most - static

    def _launch(
        self, stream: CudaStream, blocks: Dim3, threads: Dim3, shared_bytes: int, words: tuple[int, ...]
    ) -> None:
        try:
            parameters = self._blocks.pop()
        except IndexError:
            parameters = ParameterBlock(self._num_words)
        self._pack_into(parameters.words, 0, *words)
        if stream.is_recording:
            stream.add_kernel(self._driver.function_word(self._function), blocks, threads, shared_bytes, words)
        self._driver.launch(self._device, self._function, blocks, threads, shared_bytes, stream.handle, parameters)
        self._blocks.append(parameters)


def load(driver: Driver, device: int, kernel: compiler.KernelSource) -> Any:
    """Return the kernel, loaded on the device once in a process. Called by one thread at a time: see `exclusively`."""
    key = device, kernel.name
    if key not in _loaded:
        _loaded[key] = LoadedKernel(driver, device, kernel)
    return _loaded[key]
