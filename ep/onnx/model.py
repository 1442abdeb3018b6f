"""A loaded model, and its runs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from onnx import ModelProto

from ep.common.bounded_cache import BoundedCache
from ep.expressions.memory import Arenas
from ep.garbage import garbage_waits
from ep.include.arrays import Arrays
from ep.include.device_type import DeviceType
from ep.onnx.folding import folded
from ep.onnx.graph import Branch, Graph, Node, Signature, graph_of
from ep.onnx.known import Known, on_device
from ep.onnx.plan import Plan
from ep.onnx.planned import Planned
from ep.onnx.progress import Progress, Tell
from ep.onnx.reading import read
from ep.ops.devices import arrays_on


def load(source: str | PathLike[str] | bytes | ModelProto, device: str | DeviceType = "cpu") -> Model:
    """Load an ONNX model; nothing is compiled before it is called.

    source: a path, the contents of a file, or a ModelProto. device: the device that runs it, such as "cuda".

    Raises ModelError for an invalid model, UnsupportedError, which names all unsupported nodes and types, and
    ValueError for an unknown device.
    """
    device_type = DeviceType.FromTag(device) if isinstance(device, str) else device
    return Model(graph_of(read(source)), device_type)


class Model:
    """A model on a device. Several threads may run it at the same time."""

    def __init__(self, graph: Graph, device_type: DeviceType) -> None:
        self.inputs, self.outputs = graph.inputs, graph.outputs
        self.nodes = tuple(map(_without_tensors, graph.nodes))
        graph = folded(graph)
        self._device_type, self._left = device_type, graph.nodes
        self._known = Known(graph, device_type)  # it alone keeps the constants
        self._all = tuple(one.name for one in graph.outputs)
        self._plans = BoundedCache()  # by the requested outputs and the shapes of inputs
        self._arenas = Arenas()

    def __call__(self, **inputs: Any) -> tuple[Any, ...]:
        """Return all outputs; inputs: arrays of the host or of the device, by name."""
        return self.run(None, inputs)

    def run(
        self, outputs: Sequence[str] | None, inputs: Mapping[str, Any], progress: Tell | None = None
    ) -> tuple[Any, ...]:
        """Return outputs by name, all of them for None: on the CPU as ndarrays, else as arrays of the device.

        inputs: arrays of the host or of the device, by name. progress: is called in the first run with new input
        shapes, in which kernels are compiled, after each step: with the number of steps that are done, and of those
        that are known so far. A step is a node that is planned, or a launch.

        Outputs have separate memory, which later runs do not change. The first run with new input shapes plans the
        kernels for them, and compiles those that are not on disk yet.

        Raises TypeError and ValueError for missing or unknown inputs and for inputs with another dtype or shape, before
        anything is computed. Other errors have a note with the node that raised them.
        """
        wanted = self._all if outputs is None else tuple(outputs)
        base = arrays_on(self._device_type)
        values, key = self._read(base, wanted, inputs)
        plan = self._plans.get(key)
        if plan is not None:
            return self._computed(base, plan, values, wanted)
        told = None if progress is None else Progress(progress)
        with garbage_waits():
            plan = self._plan(wanted, values, told)
            self._plans.put(key, plan)
            return self._computed(base, plan, values, wanted, told)

    def _computed(
        self,
        base: Arrays,
        plan: Plan,
        values: dict[str, Any],
        wanted: Sequence[str],
        progress: Progress | None = None,
    ) -> tuple[Any, ...]:
        """Return outputs by name. values: the inputs, by name."""
        arena = self._arenas.taken(base)
        found = plan.computed(base, values, arena, wanted, progress)
        self._arenas.append(arena)
        return tuple([found[name] for name in wanted])

    def explain(self, **shapes: Sequence[int]) -> str:
        """Return a description of the kernels for given input shapes, their bytes, the memory, and the planned values.

        shapes: the shapes of the inputs, by name; they are required for inputs with free sizes.
        """
        known = {name: tuple(shape) for name, shape in shapes.items()}
        given = {}
        for one in self.inputs:
            own = one.shape if one.shape is not None and all(isinstance(size, int) for size in one.shape) else None
            shape: Any = known.pop(one.name, own)
            if shape is None:
                raise ValueError(f"{one.name} has free sizes, {one.shape}; give its shape")
            given[one.name] = _Sized(shape, one.dtype)
        if known:
            raise ValueError(f"the model has no input {', '.join(known)}; it takes {self._named(self.inputs)}")
        sizes: dict[str, tuple[int, str]] = {}
        for one in self.inputs:
            _check(one, given[one.name], sizes)
        constants = sum(one.nbytes for one in self._known.constants.values())
        lines = [f"{len(self.nodes)} nodes, {len(self._left)} of them are left when the model is loaded"]
        lines.append(f"constants: {constants:,} bytes")
        return "\n".join([*lines, self._plan(self._all, given).explain()])

    def _plan(self, wanted: Sequence[str], given: Mapping[str, Any], progress: Progress | None = None) -> Plan:
        return Plan(Planned(self._known, self._left, {}, given, wanted, progress))

    def _read(
        self, base: Arrays, wanted: tuple[str, ...], inputs: Mapping[str, Any]
    ) -> tuple[dict[str, Any], Hashable]:
        """Return the inputs as arrays of the device, and the key of their plan; raises an error for unsuitable
        inputs."""
        values: dict[str, Any] = {}
        if len(inputs) == len(self.inputs):
            key: Any = wanted
            for name, *_ in self.inputs:
                one = inputs.get(name)
                if type(one) is not np.ndarray:
                    break
                values[name] = base.as_buffer(one, name) if base.takes_host_arrays else one
                key = key, one.shape, one.dtype
            else:
                if key in self._plans or key in self._plans.older:
                    return {name: on_device(base, one) for name, one in values.items()}, key
        if unknown := sorted({*wanted} - {*self._all}):
            raise ValueError(f"outputs: the model has no {', '.join(unknown)}; it has {self._named(self.outputs)}")
        given = self._given(inputs)
        key = wanted
        for one in given.values():
            key = key, tuple(one.shape), np.dtype(one.dtype)
        return {name: on_device(base, one) for name, one in given.items()}, key

    def _given(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the inputs; raises an error for missing or unknown ones."""
        names = {one.name for one in self.inputs}
        if missing := names - {*inputs}:
            raise ValueError(
                f"inputs: {', '.join(sorted(missing))} is missing; the model takes {self._named(self.inputs)}"
            )
        if surplus := {*inputs} - names:
            raise ValueError(
                f"inputs: the model has no {', '.join(sorted(surplus))}; it takes {self._named(self.inputs)}"
            )
        sizes: dict[str, tuple[int, str]] = {}
        found = {}
        for one in self.inputs:
            array = inputs[one.name]
            array = array if hasattr(array, "shape") and hasattr(array, "dtype") else np.asarray(array)
            _check(one, array, sizes)
            found[one.name] = array
        return found

    def _named(self, some: Sequence[Signature]) -> str:
        return ", ".join(one.name for one in some) or "none"


class _Sized(NamedTuple):
    """The key of a plan."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def _without_tensors(node: Node) -> Node:
    """Return a node without its tensors and graphs, which would be in memory twice."""
    plain = {k: one for k, one in node.attributes.items() if not isinstance(one, np.ndarray | Branch)}
    return node._replace(attributes=plain)


def _check(signature: Signature, array: Any, sizes: dict[str, tuple[int, str]]) -> None:
    """Raise TypeError or ValueError for an array that the model does not accept; sizes: the values of named sizes."""
    name, dtype, shape = signature
    if np.dtype(array.dtype) != dtype:
        raise TypeError(f"input {name} has dtype {array.dtype}; it must be {dtype}")
    if shape is None:
        return
    if len(shape) != len(array.shape):
        raise ValueError(f"input {name} has shape {tuple(array.shape)}; it must have {len(shape)} axes, {shape}")
    for axis, (size, wanted) in enumerate(zip(array.shape, shape, strict=True)):
        if isinstance(wanted, str):
            before, where = sizes.setdefault(wanted, (size, f"axis {axis} of {name}"))
            if before != size:
                raise ValueError(
                    f"input {name} has {size} elements along axis {axis}; {where} has {before}, and both are {wanted}"
                )
        elif wanted is not None and wanted != size:
            raise ValueError(f"input {name} has shape {tuple(array.shape)}; it must be {shape}")
