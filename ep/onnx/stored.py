"""Plans on disk: a process that runs a model as an earlier one did needs no graph, no operators and no planning.

A plan is a recorded list of launches (`Repeat.image`), with the constants that it reads. Constants that are in the file
of the model are read from there. Other large ones have a file each, named by their contents, which all plans of the
model share; it is removed with the last of these plans. Everything is found by the contents of the model's file, by the
sources of ep, and by the version of the package onnx, which checks models and replaces functions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import numpy as np

from ep.common.arrays.on_device import arrays_on
from ep.common.kernel_cache.versions import version
from ep.include.additions import has_additions
from ep.include.arrays import Array
from ep.include.data_type import DataType, as_data_type
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.onnx.errors import ModelError
from ep.onnx.inputs import Signature
from ep.onnx.source import Source
from ep.onnx.stored_plan import Launches, StoredPlan, digests_in, packed

T = TypeVar("T")
NDArray = np.ndarray[Any, Any]
_KEPT: Final = 16
"""The most plans of one model on disk: those written last."""


class Stored:
    """What is on disk of a model for a device."""

    def __init__(self, source: Source, device_type: DeviceType) -> None:
        self._source, self._device_type = source, device_type
        self._kernels = DeviceManagerRegistry.GetDeviceManager(device_type).compiled_kernels()
        sources = self._kernels and arrays_on(device_type).has_images and source.digest and self._kernels.digest()
        self._made_by = f"{sources} onnx {version('onnx')}" if sources else ""
        self._has_signatures = False
        self._written: set[str] = set()  # the names of constants that are on disk

    def __reduce__(self) -> tuple[type[Stored], tuple[Source, DeviceType]]:
        """Let a copy find what is on disk for the sources of its own process."""
        return Stored, (self._source, self._device_type)

    @property
    def keeps(self) -> bool:
        """Whether plans of this process are written."""
        return self._made_by != "" and not has_additions()

    def signatures(self) -> tuple[Sequence[Signature], Sequence[Signature]] | None:
        """Return the inputs and the outputs of the model; None if nothing of it is on disk."""
        found = self._read(self._name("inputs"), _signatures)
        self._has_signatures = found is not None
        return found

    def plan(self, wanted: Sequence[str], values: Mapping[str, Array]) -> StoredPlan | None:
        """Return the plan for outputs and inputs, by name; None if it is not on disk.

        A process with kernels of other packages makes its own plans.
        """
        if has_additions():
            return None
        name = self._name("launches", wanted, values)
        contents = self._read(name, bytes)
        if contents is None:
            return None
        return StoredPlan(self._source, contents, lambda: self._read(name, bytes), self._reading)

    def keep(
        self,
        signatures: tuple[Sequence[Signature], Sequence[Signature]],
        wanted: Sequence[str],
        values: Mapping[str, Array],
        launches: Launches,
    ) -> None:
        """Write a plan. signatures: of the inputs and the outputs of the model."""
        if not self._kernels or not self.keeps:
            return
        try:
            contents, large = packed(launches, self._source.contents())
        except (OSError, ModelError):  # the file has been removed, or is another one now
            return
        finally:
            self._source.forget()
        with self._reading() as constant:
            missing = [one for one in large if self._name_of_constant(one) not in self._written and not constant(one)]
        for digest in missing:
            name = self._name_of_constant(digest)
            self._kernels.write(name, bytes.fromhex(digest) + large[digest].tobytes(), None)
            self._written.add(name)
        self._kernels.write(self._name("launches", wanted, values), contents, _KEPT)
        self._remove_constants()
        if not self._has_signatures:
            said = [[(name, as_data_type(dtype).name, shape) for name, dtype, shape in some] for some in signatures]
            self._kernels.write(self._name("inputs"), json.dumps(said).encode())
            self._has_signatures = True

    @contextmanager
    def _reading(self) -> Iterator[Callable[[str], bytes | None]]:
        """Return a function that reads constants with files, by their digests: None for one that is not on disk."""
        assert self._kernels is not None
        with self._kernels.reading() as read:

            def constant(digest: str) -> bytes | None:
                name, begin = self._name_of_constant(digest), bytes.fromhex(digest)
                found = read(name, lambda contents: contents[len(begin) :] if contents.startswith(begin) else None)
                if found is not None:
                    self._written.add(name)
                return found  # type: ignore[no-any-return]

            yield constant

    def _remove_constants(self) -> None:
        """Remove the constants that no plan of the model needs, once old plans give way to new ones.

        A process that writes a plan meanwhile may miss one: then its plan is made again.
        """
        assert self._kernels is not None
        plans = self._kernels.names(f"launches.{self._source.digest}", "plan")
        if len(plans) < _KEPT:
            return
        constants = {*self._kernels.names(f"constant.{self._source.digest}", "plan")}
        for name in plans if constants else ():
            constants -= {*map(self._name_of_constant, self._read(name, digests_in) or ())}
        self._kernels.remove(constants)
        self._written -= constants

    def _name_of_constant(self, digest: str) -> str:
        return f"constant.{self._source.digest}-{digest[:16]}.plan"

    def _read(self, name: str, form: Callable[[bytes], T | None]) -> T | None:
        return self._kernels.read(name, form) if self._kernels and self._made_by else None

    def _name(self, kind: str, wanted: Sequence[str] = (), values: Mapping[str, Array] | None = None) -> str:
        """Return the name of a file: of the inputs of a model, or of the launches for outputs and inputs, by name."""
        given = [(name, tuple(one.shape), str(np.dtype(one.dtype))) for name, one in (values or {}).items()]
        digest = hashlib.sha256(repr((self._made_by, wanted, given)).encode()).hexdigest()[:16]
        return f"{kind}.{self._source.digest}-{digest}.plan"


def _signatures(contents: bytes) -> tuple[Sequence[Signature], Sequence[Signature]]:
    inputs, outputs = (
        tuple(Signature(name, DataType[of].dtype, None if shape is None else tuple(shape)) for name, of, shape in some)
        for some in json.loads(contents)
    )
    return inputs, outputs
