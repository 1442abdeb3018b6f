"""Recordings of launches on CUDA: they are captured in a graph, which is launched between copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ep.cuda.arrays.array import CudaArray
from ep.cuda.device.captured import CapturedStream, Graph
from ep.cuda.device.stream import CudaStream
from ep.include.arrays import Array, Arrays
from ep.include.recording import RecordedFunction, Recording, Repeat


class GraphRecording(Recording):
    """A recording that becomes a graph.

    The graph reads copies of the inputs and writes arrays of its own, since its addresses stay the same: other ones
    would take a call of the driver for each kernel that has them, and products of cuBLASLt do not show theirs.
    """

    computes = False

    def __init__(self, home: CudaStream, arrays_on: Callable[[int, CapturedStream], Arrays]) -> None:
        """home: the stream of operators, which launches the graph. arrays_on: makes the Arrays on a captured stream."""
        self._home, self._arrays_on = home, arrays_on

    def record(
        self,
        function: RecordedFunction,
        inputs: Sequence[Array],
        values: Sequence[Array],
        constants: Sequence[Array],
        memory: Sequence[Array],
        changing: Sequence[Array] = (),
    ) -> Repeat | None:
        if not all(type(one) is CudaArray for one in inputs):
            return None
        captured = CapturedStream(self._home)
        # to wait for an array of these, instead of one of the home stream, ends the capture
        values = [CudaArray(one.memory, one.shape, captured, one) if type(one) is CudaArray else one for one in values]
        arrays = self._arrays_on(self._home.device_index, captured)
        try:
            own = [arrays.empty(one.shape, one.dtype) for one in inputs]
            for one in own:
                _fill(self._home, one, 0)
            results, graph = captured.capture(lambda: function(arrays, own, values))
        except Exception:  # whatever it is, Python computes instead, and raises the errors of the function again
            return None
        if not all(type(one) is CudaArray for one in results):
            return None
        written: list[CudaArray] = []
        for one in results:
            if all(one.memory[:3] != other.memory[:3] for other in written):
                written.append(one)
        if graph.num_nodes <= len(own) + len(written):  # it would take more calls of the driver than it saves
            return None
        return Repeat(_Replay(self._home, graph, own, written, [*constants, *memory]), written, results)


class _Replay:
    """The function that copies inputs, launches a graph, and copies what it has written.

    The driver does these in the order in which they are queued, after earlier work that uses the same memory.
    """

    def __init__(
        self, home: CudaStream, graph: Graph, inputs: Sequence[CudaArray], written: Sequence[CudaArray], held: Any
    ) -> None:
        """held: what the graph uses besides."""
        self._graph, self._own, self._num_inputs = graph, [*inputs, *written], len(inputs)
        self._places = home.device_index, (home.handle, None)
        self._held = held

    def __call__(self, *arrays: Any) -> bool:
        device, producers = self._places
        copies = []
        for k, (own, array) in enumerate(zip(self._own, arrays, strict=True)):
            if type(array) is not CudaArray or array.shape != own.shape or array.dtype != own.dtype:
                return False
            address, *_, may_write, _, on_device, producer = array.memory
            is_read = k < self._num_inputs
            if on_device != device or producer not in producers or not (is_read or may_write):
                return False
            places = (own.memory[0], address) if is_read else (address, own.memory[0])
            copies.append((*places, own.nbytes))
        self._graph.launch(
            [copy for copy in copies[: self._num_inputs] if copy[2]],
            [copy for copy in copies[self._num_inputs :] if copy[2]],
        )
        return True


def _fill(stream: CudaStream, array: CudaArray, byte: int) -> None:
    if array.nbytes:
        stream.fill(array.memory[0], byte, array.nbytes)
