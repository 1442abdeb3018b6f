"""A loaded model, and its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from os import PathLike
from typing import TYPE_CHECKING, Any

from ep.common.arrays.on_device import arrays_on, on_device
from ep.common.bounded_cache import BoundedCache
from ep.common.notice import Wait
from ep.common.progress import Progress, Tell
from ep.garbage import garbage_waits
from ep.include.device_type import DeviceType
from ep.include.shown import Lines
from ep.onnx.inputs import as_names, by_name, check_known, check_mapping, checked, of_shapes
from ep.onnx.source import Source
from ep.onnx.stored import Stored, key_of
from ep.run.call_key import call_key

if TYPE_CHECKING:
    from onnx import ModelProto

    from ep.onnx.graph import Node


def load(source: str | PathLike[str] | bytes | ModelProto, device: str | DeviceType = "cpu") -> Model:
    """Load an ONNX model; nothing is compiled before it is called.

    source: a path, the contents of a file, or a ModelProto. device: the device that runs it, such as "cuda".

    Raises TypeError for another source, ModelError for an invalid model, UnsupportedError, which names all unsupported
    nodes and types, and ValueError for an unknown device.
    """
    return Model(Source(source), DeviceType.FromTag(device) if isinstance(device, str) else device)


class Model:
    """A model on a device. Several threads may run it at the same time.

    inputs, outputs: the names, types and shapes of its inputs and outputs.
    """

    def __init__(self, source: Source, device_type: DeviceType) -> None:
        """Load a model: see `load`."""
        self._source, self._device_type = source, device_type
        self._stored = Stored(source, device_type)
        self.inputs, self.outputs = self._stored.signatures()
        self._names, self._all = (tuple([one.name for one in some]) for some in (self.inputs, self.outputs))
        self._plans = BoundedCache(attrgetter("holds"))  # by the requested outputs and the shapes of inputs
        self._known = BoundedCache(lambda known: known[0].holds)  # the same, with their Arrays, by the keys of calls

    def __reduce__(self) -> tuple[Any, ...]:
        """Let a copy load the contents of the file again. Raises TypeError for a model of a ModelProto."""
        if not self._source.is_file:
            raise TypeError(
                "a model of a ModelProto cannot be copied or pickled; load it from a file or from its bytes"
            )
        return Model, (self._source, self._device_type)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes, as the file has them, without their tensors and graphs."""
        return self._stored.planner.nodes

    def __repr__(self) -> str:
        kinds = [*(("input", one) for one in self.inputs), *(("output", one) for one in self.outputs)]
        return "\n".join([f"ep.onnx.Model on {self._device_type.tag}", *(f"  {kind:6}  {one}" for kind, one in kinds)])

    def __call__(self, /, *arrays: Any, **inputs: Any) -> tuple[Any, ...]:
        """Return all outputs.

        arrays, inputs: arrays of the host or of the device: in the order of the model's inputs, or by name. `run` has
        the errors; TypeError for an input that is given twice, and for more arrays than inputs.
        """
        return self.run(None, by_name(self.inputs, arrays, inputs) if arrays else inputs)

    def run(
        self, outputs: Sequence[str] | None, inputs: Mapping[str, Any], progress: Tell | None = None
    ) -> tuple[Any, ...]:
        """Return outputs by name, all of them for None: on the CPU as ndarrays, else as arrays of the device.

        outputs: a sequence of names, also for one of them: `model.run(["logits"], {"ids": ids})`.

        inputs: arrays of the device, or whatever operators accept on the CPU: what NumPy makes an array of, or what
        exports DLPack. They must have the dtype of the input; a Python number takes it.

        progress: is called in the first run with new input shapes, in which kernels are compiled, after each step: with
        the number of steps that are done, and of those that are known so far. A step is a node that is planned, or a
        launch. It is not called if the plan is on disk.

        Outputs have separate memory, which later runs do not change. The first run with new input shapes plans the
        kernels for them, and compiles those that are not on disk yet; or it finds the plan on disk.

        Raises TypeError and ValueError for missing or unknown inputs and for inputs with another dtype or shape, before
        anything is computed. Other errors have a note with the node that raised them.
        """
        wanted = self._all if outputs is None else as_names(outputs, self.outputs)
        call: Any = None
        if type(inputs) is dict and len(inputs) == len(self._names):
            call = wanted, call_key(map(inputs.get, self._names))
            known = self._known.get(call)
            if known is not None:
                plan, base = known
                return tuple(plan.outputs(base, inputs))
        return self._found(call, wanted, inputs, progress)

    def explain(self, /, *given: Any, **shapes: Any) -> str:
        """Return a description of the kernels for given input shapes, their bytes, the memory, and the planned values.

        given, shapes: the shapes of the inputs, or arrays that have them: in the order of the inputs, or by name. They
        are required for inputs with free sizes.
        """
        return Lines(self._stored.planner.explain(of_shapes(self.inputs, by_name(self.inputs, given, shapes))))

    def _found(
        self, call: Any, wanted: tuple[str, ...], inputs: Mapping[str, Any], progress: Tell | None
    ) -> tuple[Any, ...]:
        """Return outputs by name, with a plan that is found by the shapes of the inputs, or made. call: the key of the
        call, if it has one."""
        base = arrays_on(self._device_type)
        check_mapping(inputs, self.inputs)
        check_known("output", wanted, self.outputs)
        given = checked(base, self.inputs, inputs)
        values = {name: on_device(base, one, f"input {name}") for name, one in given.items()}
        key = key_of(wanted, values)
        plan = self._plans.get(key)
        if plan is None:
            with garbage_waits(), Wait() as wait:
                heard = [one for one in (progress, wait.tell if wait is not None and wait.is_heard else None) if one]
                told = [Progress(lambda done, known: [tell(done, known) for tell in heard])] if heard else []
                plan = self._stored.runs(wanted, values, *told)
                self._plans.put(key, plan)
                found = tuple(plan.outputs(base, values, *told))
        else:
            found = tuple(plan.outputs(base, values))
        if call is not None and call[1] is not None and all(inputs[name] is values[name] for name in self._names):
            self._known.put(call, (plan, base.kept()))
        return found
