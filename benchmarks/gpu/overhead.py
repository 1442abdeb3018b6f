"""The time of a launch in Python, on buffers of one element, for every kind of array; and in a CUDA graph."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.gpu.graph import Graph
from benchmarks.gpu.peers import Call, Operand, Peer
from benchmarks.gpu.scale import Scale
from benchmarks.gpu.timing import EventClock, host_seconds
from ep import AllocationOptions, BinaryOp, DeviceType, RequirePrimitive, UnaryOp
from ep.bench import numpy_ways
from ep.bench.builders import binary, gather, unary
from ep.bench.case import Case
from ep.cli.names import factory_of


def cases() -> list[Case]:
    """Return the cases, of one element each."""
    return [
        unary("relu", UnaryOp.kRelu, (1,), numpy_ways.relu),
        binary("add", BinaryOp.kAdd, (1,), (1,), np.add),
        gather("gather", 1, 1, 1, index_type=np.int64, order="uniform"),
    ]


def measure(stream: Any, peers: Sequence[Peer], scale: Scale) -> dict[str, Any]:
    """Return microseconds of a launch by case and kind of array, and of the corresponding calls of peers."""
    found: dict[str, Any] = {}
    for case in cases():
        primitive = RequirePrimitive(factory_of(case.primitive), DeviceType.kCUDA, *case.key)
        inputs, out = _operands(case, stream)
        kinds: dict[str, Callable[[Operand], Any]] = {"CudaBuffer": lambda operand: operand.buffer}
        kinds |= {f"{peer.name} array": peer.array for peer in peers}
        calls: dict[str, Call] = {
            f"ep, {name}": case.bind(primitive, stream, [array(operand) for operand in inputs], array(out))
            for name, array in kinds.items()
        }
        for peer in peers:
            calls |= peer.prepare(case, inputs, out)
        found[case.name] = {
            name: 1e6 * host_seconds(call, stream.Sync, scale.host_launches, scale.host_batches)
            for name, call in calls.items()
        }
    return found


def measure_graph(stream: Any, clock: EventClock) -> dict[str, Any]:
    """Return microseconds of a launch in a graph of many, in Python and on the device, and whether it computed."""
    scale = clock.scale
    case = cases()[0]
    primitive = RequirePrimitive(factory_of(case.primitive), DeviceType.kCUDA, *case.key)
    inputs, out = _operands(case, stream)
    call = case.bind(primitive, stream, [operand.buffer for operand in inputs], out.buffer)
    call()
    stream.Sync()

    def work() -> None:
        for _ in range(scale.host_launches):
            call()

    graph = Graph(stream, work)
    value = np.array([3.25], np.float32)
    inputs[0].buffer.copy_from_host(value, stream)
    out.buffer.copy_from_host(-value, stream)
    graph.launch()
    computed = bool(out.buffer.copy_to_host(stream)[0] == value[0])
    host = host_seconds(graph.launch, stream.Sync, scale.replays, scale.host_batches)
    samples = (clock.sample(graph.launch, scale.replays, host) for _ in range(scale.replays))
    device = statistics.median(sample.device_seconds for sample in samples)
    graph.destroy()
    return {
        "launches": scale.host_launches,
        "replay_computes": computed,
        "host_us_per_launch": 1e6 * host / scale.host_launches,
        "device_us_per_launch": 1e6 * device / scale.host_launches,
    }


def _operands(case: Case, stream: Any) -> tuple[list[Operand], Operand]:
    def operand(array: np.ndarray[Any, Any]) -> Operand:
        buffer = stream.device().Alloc(AllocationOptions(), array.nbytes).view(array.dtype)
        buffer.copy_from_host(array.reshape(-1), stream)
        return Operand(buffer, array.shape)

    inputs = [operand(np.asarray(array)) for array in case.make(np.random.default_rng(1))]
    return inputs, operand(np.zeros(case.out_dims, case.out_type))
