"""A loaded model, and its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

from ep.common.arrays.on_device import arrays_on, as_device_type, on_device
from ep.common.bounded_cache import BoundedCache
from ep.common.notice import Wait
from ep.common.progress import Progress, Tell
from ep.garbage import garbage_waits
from ep.include.additions import forget_when_added
from ep.include.arrays import Array, Arrays
from ep.include.device_type import DeviceType
from ep.include.errors import LackingError
from ep.include.shown import Lines
from ep.onnx.inputs import OF_SIZES, Sized, as_names, assumed, by_name, check_known, check_mapping, checked, of_shapes
from ep.onnx.source import Source
from ep.onnx.stored import Stored, key_of
from ep.run.call_key import call_key

if TYPE_CHECKING:
    from onnx import ModelProto

    from ep.expressions.trace import Node as Call
    from ep.onnx.graph import Node


_Given: TypeAlias = "str | PathLike[str] | bytes | ModelProto"


def load(
    source: _Given,
    device: str | DeviceType = "cpu",
    otherwise: str | DeviceType | None = None,
) -> Model:
    """Load an ONNX model; nothing is compiled before it is called.

    source: a path, the contents of a file, or a ModelProto. device: the device that runs it, such as "cuda". otherwise:
    the device, such as "cpu", that computes what the first one has no kernel for; `explain` says what that is.

    Raises TypeError for another source, ModelError for an invalid model, UnsupportedError, which names all unsupported
    nodes and types, ValueError for an unknown device, and UnsupportedPrimitiveError, which lists all kernels that the
    device lacks, as far as the types and sizes in the file tell: if only the sizes or the data of a run do, the run
    raises it.
    """
    other = None if otherwise is None else as_device_type(otherwise, "otherwise")
    model = Model(source, as_device_type(device, "device"), other)
    if model.may_lack:
        with suppress(*OF_SIZES):  # a run has others, or raises the error
            model.check_kernels()
    return model


class Model:
    """A model on a device. Several threads may run it at the same time.

    inputs, outputs: the names, types and shapes of its inputs and outputs.
    """

    def __init__(self, source: _Given | Source, device_type: DeviceType, otherwise: DeviceType | None = None) -> None:
        """Load a model, as `load` does, which also checks that the device has all kernels."""
        source = source if isinstance(source, Source) else Source(source)
        self._source, self._device_type, self._otherwise = source, device_type, otherwise
        self._stored = Stored(source, device_type, otherwise)
        self.inputs, self.outputs, self._texts = self._stored.signatures()
        self._names, self._all = (tuple([one.name for one in some]) for some in (self.inputs, self.outputs))
        self.forget()
        if otherwise is not None:  # a kernel more, and the other device computes less
            forget_when_added(self)

    def forget(self) -> None:
        """Forget all plans. A run that has begun keeps its own."""
        self._plans = BoundedCache(attrgetter("holds"))  # by the requested outputs and the shapes of inputs
        self._known = BoundedCache(lambda known: known[0].holds)  # the same, with their Arrays, by the keys of calls

    def __reduce__(self) -> tuple[Any, ...]:
        """Let a copy load the contents of the file again. Raises TypeError for a model of a ModelProto."""
        if not self._source.is_file:
            raise TypeError(
                "a model of a ModelProto cannot be copied or pickled; load it from a file or from its bytes"
            )
        return Model, (self._source, self._device_type, self._otherwise)

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

        A sequence of maps is a list of dicts, and an array of strings an ndarray, on any device.

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
                found = tuple(plan.outputs(base, inputs))
                return self._with_texts(wanted, found) if self._texts else found
        found = self._found(call, wanted, inputs, progress)
        return self._with_texts(wanted, found) if self._texts else found

    @property
    def may_lack(self) -> bool:
        """Whether the device may lack kernels: the CPU has all, and so has a device with a plan on disk."""
        has_all = self._device_type is DeviceType.kCPU or self._stored.has_signatures
        return not has_all and self._otherwise in (None, self._device_type)

    def check_kernels(self, /, **shapes: Any) -> None:
        """Raise UnsupportedPrimitiveError, which lists all kernels that the device lacks for the model.

        shapes: those of inputs, or arrays that have them, by name. Other free sizes are assumed. If no sizes can be
        computed with, the errors of `run` are raised.
        """
        raised = list[Exception]()
        for given in assumed(self.inputs, shapes):
            try:
                return self._stored.planner.check(given)
            except (LackingError, *OF_SIZES) as error:
                raised.append(error)
        raise next((one for one in raised if isinstance(one, LackingError)), raised[0])

    def explain(self, /, *given: Any, **shapes: Any) -> str:
        """Return a description of the kernels for given input shapes, their bytes, the memory, and the planned values.

        given, shapes: the shapes of the inputs, or arrays that have them: in the order of the inputs, or by name. They
        are required for inputs with free sizes.
        """
        return Lines(self._stored.planner.explain(of_shapes(self.inputs, by_name(self.inputs, given, shapes))))

    def calls(self, inputs: Mapping[str, Any]) -> list[tuple[Call, Sequence[Call]]]:
        """Compute all outputs; return the calls of operators of which that consists, each as the node of its first
        result in a trace, and those of its operands.

        inputs: as for `run`, which has the errors. The calls of a loop count once. Those with which a node is computed
        that needs data on the host are left out.
        """
        base = arrays_on(self._device_type)
        check_mapping(inputs, self.inputs)
        values = self._values(base, inputs)
        plan = self._stored.planner.new_plan(self._all, {name: Sized.of(one) for name, one in values.items()}, None)
        plan.outputs(base, values)
        return [*plan.calls()]

    def _found(
        self, call: Any, wanted: tuple[str, ...], inputs: Mapping[str, Any], progress: Tell | None
    ) -> tuple[Any, ...]:
        """Return outputs by name, with a plan that is found by the shapes of the inputs, or made. call: the key of the
        call, if it has one."""
        base, plans, of_calls = arrays_on(self._device_type), self._plans, self._known
        check_mapping(inputs, self.inputs)
        check_known("output", wanted, self.outputs)
        values = self._values(base, inputs)
        key = key_of(wanted, values)
        plan = plans.get(key)
        if plan is None:
            with garbage_waits(), Wait() as wait:
                heard = [one for one in (progress, wait.tell if wait is not None and wait.is_heard else None) if one]
                told = [Progress(lambda done, known: [tell(done, known) for tell in heard])] if heard else []
                plan = self._stored.plan_of(wanted, values, *told)
                plans.put(key, plan)
                found = tuple(plan.outputs(base, values, *told))
        else:
            found = tuple(plan.outputs(base, values))
        if call is not None and call[1] is not None and all(inputs[name] is values[name] for name in self._names):
            of_calls.put(call, (plan, base.kept()))
        return found

    def _with_texts(self, wanted: Sequence[str], found: Sequence[Any]) -> tuple[Any, ...]:
        """Return outputs, those that are strings or maps as such."""
        all_found, texts, base = [*found], self._texts, arrays_on(self._device_type)
        for k, name in enumerate(wanted):
            if name in texts:
                array = all_found[k]
                all_found[k] = texts[name].of(array if base.takes_host_arrays else base.copy_to_host(array))
        return tuple(all_found)

    def _values(self, base: Arrays, inputs: Mapping[str, Any]) -> dict[str, Array]:
        """Return the inputs as arrays of the device, by name."""
        given = checked(base, self.inputs, inputs)
        return {name: on_device(base, one, f"input {name}") for name, one in given.items()}
