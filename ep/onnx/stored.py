"""Plans on disk: a process that runs a model as an earlier one did needs no graph, no operators and no planning.

A plan is a recorded list of launches (`Repeat.image`), with the constants that it reads. Constants that are in the file
of the model are read from there. Everything is found by the contents of that file, by the sources of ep, and by the
version of the package onnx, which checks models and replaces functions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from ep.common.arrays.on_device import arrays_on
from ep.common.kernel_cache.headed import header_of, with_header
from ep.common.kernel_cache.versions import version
from ep.include.additions import has_additions
from ep.include.arrays import Array, Arrays
from ep.include.data_type import DataType, as_data_type
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.process import ProcessBound
from ep.include.recording import results_in
from ep.onnx.errors import ModelError
from ep.onnx.inputs import Signature
from ep.onnx.source import Source

T = TypeVar("T")
NDArray = np.ndarray[Any, Any]
_KEPT: Final = 16
"""The most plans of one model on disk: those written last."""
_LEAST: Final = 64
"""The fewest bytes of a constant that is looked for in the file of the model."""


class Launches(NamedTuple):
    """The recorded launches of a plan.

    image: see `Repeat`. inputs: the names of the arrays that they read. written: shape and dtype of those that they
    write. results: for each output the number of its written array, and its shape. constants: the arrays that the image
    needs, on the host.
    """

    image: bytes
    inputs: Sequence[str]
    written: Sequence[tuple[Sequence[int], np.dtype[Any]]]
    results: Sequence[tuple[int, Sequence[int]]]
    constants: Sequence[NDArray]


class Stored:
    """What is on disk of a model for a device."""

    def __init__(self, source: Source, device_type: DeviceType) -> None:
        self._source, self._device_type = source, device_type
        self._kernels = DeviceManagerRegistry.GetDeviceManager(device_type).compiled_kernels()
        sources = self._kernels and arrays_on(device_type).has_images and source.digest and self._kernels.digest()
        self._made_by = f"{sources} onnx {version('onnx')}" if sources else ""
        self._has_signatures = False

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
        return None if contents is None else StoredPlan(self._source, contents, lambda: self._read(name, bytes))

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
            contents = _packed(launches, self._source.contents())
        except (OSError, ModelError):  # the file has been removed, or is another one now
            return
        finally:
            self._source.forget()
        self._kernels.write(self._name("launches", wanted, values), contents, _KEPT)
        if not self._has_signatures:
            said = [[(name, as_data_type(dtype).name, shape) for name, dtype, shape in some] for some in signatures]
            self._kernels.write(self._name("inputs"), json.dumps(said).encode())
            self._has_signatures = True

    def _read(self, name: str, form: Callable[[bytes], T | None]) -> T | None:
        return self._kernels.read(name, form) if self._kernels and self._made_by else None

    def _name(self, kind: str, wanted: Sequence[str] = (), values: Mapping[str, Array] | None = None) -> str:
        """Return the name of a file: of the inputs of a model, or of the launches for outputs and inputs, by name."""
        given = [(name, tuple(one.shape), str(np.dtype(one.dtype))) for name, one in (values or {}).items()]
        digest = hashlib.sha256(repr((self._made_by, wanted, given)).encode()).hexdigest()[:16]
        return f"{kind}.{self._source.digest}-{digest}.plan"


class StoredPlan(ProcessBound):
    """A plan from the disk. Several threads may run it, each in memory of its own."""

    def __init__(self, source: Source, contents: bytes, read_again: Callable[[], bytes | None]) -> None:
        """source: of the model. contents: those of the file; `read_again` reads it again, for more memory."""
        self._source, self._contents, self._read_again = source, contents, read_again
        header, begin = header_of(contents)
        self._inputs: list[str] = header["inputs"]
        self._written = [(tuple(shape), DataType[name].dtype) for shape, name in header["written"]]
        self._results = [(number, tuple(shape)) for number, shape in header["results"]]
        self._places: list[tuple[bool, int, list[int], str]] = header["constants"]
        self._image, self._own = begin, begin + header["image"]
        self._constants: list[Array] | None = None
        self._free: list[Callable[..., bool]] = []  # the functions that no thread is in

    def outputs(self, base: Arrays, values: Mapping[str, Array], wanted: Sequence[str]) -> tuple[Array, ...] | None:
        """Return the outputs that the plan is for. values: the inputs, by name.

        Returns None if the launches cannot be repeated: kernels are no longer on disk, an index is wrong, or another
        package has registered kernels meanwhile.
        """
        if has_additions():
            return None
        run: Callable[..., bool] | None
        try:
            run = self._free.pop()
        except IndexError:
            run = self._restored(base)
        if run is None:
            return None
        written = [base.empty(*one) for one in self._written]
        done = run(*[values[name] for name in self._inputs], *written)
        self._free.append(run)
        return tuple(results_in(written, self._results)) if done else None

    def _restored(self, base: Arrays) -> Callable[..., bool] | None:
        contents, self._contents = self._contents or self._read_again() or b"", b""
        if not contents:
            return None
        if self._constants is None:
            of_model = self._source.contents() if any(of_model for of_model, *_ in self._places) else b""
            self._constants = [
                base.copy_from_host(
                    _array(of_model, offset, shape, name)
                    if is_of_model
                    else _array(contents, self._own + offset, shape, name)
                )
                for is_of_model, offset, shape, name in self._places
            ]
            self._source.forget()
        return base.restored(contents[self._image : self._own], self._constants)


def _array(contents: bytes, offset: int, shape: Sequence[int], name: str) -> NDArray:
    """Return an array in the contents of a file."""
    dtype = DataType[name].dtype
    count = int(np.prod(shape))
    return np.frombuffer(contents, np.uint8, count * dtype.itemsize, offset).view(dtype).reshape(shape)


def _packed(launches: Launches, of_model: bytes) -> bytes:
    """Return the contents of a file. of_model: those of the file of the model."""
    places, own, end, last = [], list[bytes](), 0, 0
    for one in launches.constants:
        raw = one.tobytes()
        place = -1
        if len(raw) >= _LEAST:  # constants mostly follow one another
            place = of_model.find(raw, last)
            place = of_model.find(raw, 0, last + len(raw) - 1) if place < 0 else place
        if place >= 0:
            last = place + len(raw)
        else:
            own.append(raw)
            end += len(raw)
        places.append((place >= 0, place if place >= 0 else end - len(raw), one.shape, as_data_type(one.dtype).name))
    header = {
        "inputs": launches.inputs,
        "written": [(shape, as_data_type(dtype).name) for shape, dtype in launches.written],
        "results": launches.results,
        "constants": places,
        "image": len(launches.image),
    }
    return with_header(header, launches.image, *own)


def _signatures(contents: bytes) -> tuple[Sequence[Signature], Sequence[Signature]]:
    inputs, outputs = (
        tuple(Signature(name, DataType[of].dtype, None if shape is None else tuple(shape)) for name, of, shape in some)
        for some in json.loads(contents)
    )
    return inputs, outputs
