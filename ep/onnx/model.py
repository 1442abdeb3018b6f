"""A loaded model, and how it is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Final

import numpy as np
from onnx import ModelProto

from ep import ops
from ep.common.bounded_cache import BoundedCache
from ep.include.device_type import DeviceType
from ep.onnx.graph import Graph, Node, Signature, graph_of
from ep.onnx.reading import read

_HOST: Final = DeviceType.kCPU


def load(source: str | PathLike[str] | bytes | ModelProto, device: str | DeviceType = "cpu") -> Model:
    """Return a model of an ONNX file; nothing is computed, and nothing compiled, before it is called.

    source: a path, the contents of a file, or a ModelProto. device: where it is computed, such as "cuda".

    Raises ModelError for what is no valid model, UnsupportedError for one with nodes or types that nothing serves, all
    of which it names, and ValueError for a device that there is not.
    """
    device_type = DeviceType.FromTag(device) if isinstance(device, str) else device
    return Model(graph_of(read(source)), device_type)


class _Value:
    """An array of the host, of the device, or of both. fixed: whether it follows from the inputs' shapes."""

    __slots__ = ("_device", "_host", "fixed")

    def __init__(self, host: Any, device: Any, fixed: bool) -> None:
        self._host, self._device, self.fixed = host, device, fixed

    def on_host(self) -> Any:
        if self._host is None:
            self._host = ops.copy_to_host(self._device)
        return self._host

    def on(self, device_type: DeviceType) -> Any:
        if self._device is None:
            self._device = self._host if device_type is _HOST else ops.copy_to_device(self._host, device_type)
        return self._device

    @property
    def array(self) -> Any:
        return self._device if self._host is None else self._host


class Model:
    """A model on a device. Several threads may run it."""

    def __init__(self, graph: Graph, device_type: DeviceType) -> None:
        self._graph, self._device_type = graph, device_type
        self.inputs, self.outputs, self.nodes = graph.inputs, graph.outputs, graph.nodes
        self._constants = {name: _Value(array, None, True) for name, array in graph.constants.items()}
        self._fixed = BoundedCache()  # what follows from shapes, by the shapes of inputs
        last: dict[str, int] = {}
        for k, node in enumerate(graph.nodes):
            last.update(dict.fromkeys(node.inputs, k))
        kept = {one.name for one in graph.outputs}
        self._read_last: list[list[str]] = [[] for _ in graph.nodes]
        for name, k in last.items():
            if name not in kept:
                self._read_last[k].append(name)

    def __call__(self, **inputs: Any) -> tuple[Any, ...]:
        """Return all outputs; inputs: arrays of the host or of the device, by name."""
        return self.run(None, inputs)

    def run(self, outputs: Sequence[str] | None, inputs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return outputs by name, all of them for None: on the CPU as ndarrays, else as arrays of the device.

        inputs: arrays of the host or of the device, by name.

        Raises TypeError and ValueError for inputs that are missing, surplus, or of another dtype or shape, before
        anything is computed. Other errors have a note with the node that raised them.
        """
        wanted = [one.name for one in self.outputs] if outputs is None else [*outputs]
        if unknown := sorted({*wanted} - {one.name for one in self.outputs}):
            raise ValueError(f"outputs: the model has no {', '.join(unknown)}; it has {self._named(self.outputs)}")
        given = self._given(inputs)
        key = tuple(tuple(given[one.name].array.shape) for one in self.inputs)
        known = self._fixed.get(key)
        fixed: dict[str, _Value] = {} if known is None else known
        values = {**self._constants, **fixed, **given}
        for node, last in zip(self._graph.nodes, self._read_last, strict=True):
            if known is None or any(name and name not in known for name in node.outputs):
                self._compute(node, values)
                if known is None:
                    fixed.update({name: values[name] for name in node.outputs if name and values[name].fixed})
            for name in last:
                values.pop(name, None)
        if known is None:
            self._fixed.put(key, fixed)
        return tuple(values[name].on(self._device_type) for name in wanted)

    def explain(self) -> str:
        """Return a line for each node: what serves it, what it reads, and what it gives."""
        lines = []
        for node in self._graph.nodes:
            function = getattr(node.line.function, "__name__", node.line.name)
            lines.append(f"{node.line.name} ({function}): {', '.join(node.inputs)} -> {', '.join(node.outputs)}")
        return "\n".join(lines)

    def _given(self, inputs: Mapping[str, Any]) -> dict[str, _Value]:
        """Return the inputs as values; raises what is wrong with them."""
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
            on_host = isinstance(array, np.ndarray | np.generic)
            found[one.name] = _Value(np.asarray(array) if on_host else None, None if on_host else array, False)
        return found

    def _named(self, some: Sequence[Signature]) -> str:
        return ", ".join(one.name for one in some) or "none"

    def _compute(self, node: Node, values: dict[str, _Value]) -> None:
        read = [values[name] if name else None for name in node.inputs]
        fixed, line = all(one is None or one.fixed for one in read), node.line
        place = _HOST if fixed or line.of_shape else self._device_type
        arrays: list[Any] = []
        for k, one in enumerate(read):
            if one is None:
                arrays.append(None)
            elif line.of_shape and not fixed:
                arrays.append(_Shaped(one))
            else:
                arrays.append(one.on_host() if k in line.host or place is _HOST else one.on(place))
        attributes = dict(node.attributes)
        if line.counts:
            attributes["num_outputs"] = len(node.outputs)
        try:
            results = line.function(*arrays, **attributes)
        except Exception as error:
            error.add_note(f"in {node.shown}")
            raise
        several = results if isinstance(results, tuple | list) else (results,)
        for name, result in zip(node.outputs, several, strict=False):
            if name:
                on_host = place is _HOST or isinstance(result, np.ndarray | np.generic)
                is_fixed = fixed or line.of_shape
                values[name] = _Value(np.asarray(result) if on_host else None, None if on_host else result, is_fixed)
        if missing := [name for name in node.outputs[len(several) :] if name]:
            raise NotImplementedError(f"{node.shown} has an output that nothing serves: {', '.join(missing)}")


class _Shaped:
    """An array as operators on shapes see it."""

    def __init__(self, value: _Value) -> None:
        self.shape, self.dtype = tuple(value.array.shape), value.array.dtype


def _check(signature: Signature, array: Any, sizes: dict[str, tuple[int, str]]) -> None:
    """Raise TypeError or ValueError for an array that the model does not take; sizes: those that names stand for."""
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
