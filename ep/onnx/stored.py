"""The plans of models, on disk or new, and with them the inputs and outputs of models."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ep.common.kernel_cache.headed import DamagedError, record_of
from ep.common.plans.stored_plan import Launches, Origin
from ep.common.plans.stored_plans import StoredPlans
from ep.include.arrays import Array
from ep.include.data_type import DataType, as_data_type
from ep.include.device_type import DeviceType
from ep.include.process import exclusively
from ep.onnx.inputs import Sized, ValueInfo
from ep.onnx.labels import Labels
from ep.onnx.source import Source

if TYPE_CHECKING:
    from ep.onnx.planner import Planner

ValueInfos: TypeAlias = tuple[Sequence[ValueInfo], Sequence[ValueInfo], Mapping[str, Labels]]
"""Those of the inputs and of the outputs of a model, and what outputs stand for that are strings or maps."""


class Stored(StoredPlans):
    """The plans of a model on a device: those on disk, and new ones.

    has_signatures: whether the inputs and outputs of the model are on disk, and so a whole plan has been.
    """

    _made: Planner | None = None

    def __init__(self, source: Source, device_type: DeviceType, otherwise: DeviceType | None) -> None:
        super().__init__(Origin(source.digest, source.contents, source.forget), "onnx", device_type)
        self._source, self._devices = source, (device_type, otherwise)
        self.has_signatures = False

    @property
    def planner(self) -> Planner:
        """The graph, and the plans that are made of it. Plans on disk do not need it."""
        if self._made is None:
            planner = exclusively(lambda: import_module("ep.onnx.planner")).Planner(self._source, *self._devices)
            self._made = self._made or planner  # another thread may have been faster: all plans share the constants
            self._source.forget()
        return self._made

    def __reduce__(self) -> tuple[type[Stored], tuple[Source, DeviceType, DeviceType | None]]:
        """Let a copy find what is on disk for the sources of its own process."""
        return Stored, (self._source, *self._devices)

    def signatures(self) -> ValueInfos:
        """Return the inputs and the outputs of the model, and what outputs stand for that are strings or maps."""
        found = self.read("inputs", "", _signatures)
        self.has_signatures = found is not None
        return found or (*self.planner.signatures, self.planner.texts)

    def plan_of(self, wanted: Sequence[str], values: Mapping[str, Array], *told: Any) -> Any:
        """Return the plan for outputs and inputs, by name. told: the progress of planning."""
        sizes = {name: Sized.of(one) for name, one in values.items()}
        return self.plan(key_of(wanted, values), lambda *more: self.planner.new_plan(wanted, sizes, *more), *told)

    def keep_plan(self, key: object, launches: Launches) -> None:
        super().keep_plan(key, launches)
        if not self.has_signatures:
            signatures = self.planner.signatures
            said = [[(name, _type_name(dtype), shape) for name, dtype, shape in some] for some in signatures]
            self.write("inputs", "", json.dumps([*said, self.planner.texts]).encode())
            self.has_signatures = True


def key_of(wanted: Sequence[str], values: Mapping[str, Array]) -> Hashable:
    """Return the key of the plan for outputs and inputs, by name."""
    return wanted, tuple([(name, tuple(one.shape), str(np.dtype(one.dtype))) for name, one in values.items()])


def _type_name(dtype: np.dtype[Any]) -> str:
    """Return the name of a DataType; that of places for strings and maps."""
    return (as_data_type(dtype) if dtype.kind not in "OU" else DataType.kInt64).name


_Said: TypeAlias = tuple[tuple[str, str, tuple[int | str | None, ...] | None], ...]


def _signatures(contents: bytes) -> ValueInfos | None:
    """Return the signatures in a file; None if it is damaged."""
    try:
        *said, texts = record_of(tuple[_Said, _Said, dict[str, Labels]], contents)
        inputs, outputs = (
            tuple(ValueInfo(name, DataType[type_name].dtype, shape) for name, type_name, shape in some) for some in said
        )
    except (DamagedError, KeyError):
        return None
    outputs = tuple([one._replace(dtype=texts[one.name].dtype) if one.name in texts else one for one in outputs])
    return inputs, outputs, texts
