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
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from ep.common.arrays.constants import CONSTANTS
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
_LARGE: Final = 2**12
"""The fewest bytes of a constant that has a file."""
_MOST: Final = 2**12
"""The most such constants of one model."""


class Stand(NamedTuple):
    """A constant of a plan: where its bytes are, and what they are.

    offset: in the file of the model; of others, in the plan itself. digest: of the contents; empty if they are in the
    plan. is_file: whether they have a file.
    """

    digest: str
    is_file: bool
    offset: int
    shape: Sequence[int]
    type_name: str


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
        return StoredPlan(self._source, contents, lambda: self._read(name, bytes), self._constant)

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
            contents, large = _packed(launches, self._source.contents())
        except (OSError, ModelError):  # the file has been removed, or is another one now
            return
        finally:
            self._source.forget()
        for digest, one in large.items():
            name = self._name_of_constant(digest)
            if name not in self._written and self._constant(digest) is None:
                self._kernels.write(name, bytes.fromhex(digest) + one.tobytes(), _MOST)
                self._written.add(name)
        self._kernels.write(self._name("launches", wanted, values), contents, _KEPT)
        self._remove_constants()
        if not self._has_signatures:
            said = [[(name, as_data_type(dtype).name, shape) for name, dtype, shape in some] for some in signatures]
            self._kernels.write(self._name("inputs"), json.dumps(said).encode())
            self._has_signatures = True

    def _constant(self, digest: str) -> bytes | None:
        """Return the contents of a constant that has a file; None if it is not on disk."""
        name, begin = self._name_of_constant(digest), bytes.fromhex(digest)
        found = self._read(name, lambda contents: contents[len(begin) :] if contents.startswith(begin) else None)
        if found is not None:
            self._written.add(name)
        return found

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
            constants -= {*map(self._name_of_constant, self._read(name, _digests) or ())}
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


class StoredPlan(ProcessBound):
    """A plan from the disk. Several threads may run it, each in memory of its own."""

    def __init__(
        self,
        source: Source,
        contents: bytes,
        read_again: Callable[[], bytes | None],
        read_constant: Callable[[str], bytes | None],
    ) -> None:
        """source: of the model. contents: those of the file; `read_again` reads it again, for more memory.

        read_constant: returns the contents of a constant with a file, by its digest; None if it is not on disk.
        """
        self._source, self._contents, self._read_again = source, contents, read_again
        self._read_constant = read_constant
        header, begin = header_of(contents)
        self._inputs: list[str] = header["inputs"]
        self._written = [(tuple(shape), DataType[name].dtype) for shape, name in header["written"]]
        self._results = [(number, tuple(shape)) for number, shape in header["results"]]
        self._stands = [*_stands(header)]
        self._image, self._own = begin, begin + header["image"]
        self._constants: list[Array] | None = None
        self._free: list[Callable[..., bool]] = []  # the functions that no thread is in

    def outputs(self, base: Arrays, values: Mapping[str, Array], wanted: Sequence[str]) -> tuple[Array, ...] | None:
        """Return the outputs that the plan is for. values: the inputs, by name.

        Returns None if the launches cannot be repeated: kernels or constants are no longer on disk, an index is wrong,
        or another package has registered kernels meanwhile.
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
            try:
                self._constants = [self._placed(base, contents, one) for one in self._stands]
            except _MissingError:
                return None
            finally:
                self._source.forget()
        return base.restored(contents[self._image : self._own], self._constants)

    def _placed(self, base: Arrays, contents: bytes, stand: Stand) -> Array:
        """Return a constant on the device. contents: those of the file."""
        dtype, shape = DataType[stand.type_name].dtype, tuple(stand.shape)

        def read() -> NDArray:
            raw, begin = contents, self._own + stand.offset
            if stand.is_file:
                found = self._read_constant(stand.digest)
                if found is None:
                    raise _MissingError
                raw, begin = found, 0
            elif stand.digest:
                raw, begin = self._source.contents(), stand.offset
            count = int(np.prod(shape)) * dtype.itemsize
            return np.frombuffer(raw, np.uint8, count, begin).view(dtype).reshape(shape)

        if stand.digest:
            return CONSTANTS.found(base, stand.digest, dtype, shape, read)
        return base.copy_from_host(read())


class _MissingError(Exception):
    """Raised for a constant whose file has been removed or damaged."""


def _stands(header: Mapping[str, Any]) -> Iterator[Stand]:
    return (Stand(*one) for one in header["constants"])


def _digests(contents: bytes) -> list[str]:
    """Return the digests of a plan's constants. Plans of earlier sources of ep may have a header without any."""
    return [first for first, *_ in header_of(contents)[0]["constants"] if isinstance(first, str)]


def _packed(launches: Launches, of_model: bytes) -> tuple[bytes, dict[str, NDArray]]:
    """Return the contents of a file, and the constants that have files, by their digests. of_model: the contents of the
    file of the model.
    """
    stands, own, end, last = [], list[bytes](), 0, 0
    places, large = dict[str, int](), dict[str, NDArray]()
    for one in launches.constants:
        described = one.shape, as_data_type(one.dtype).name
        digest = CONSTANTS.digest(one) if one.nbytes >= _LEAST else ""
        if digest and digest not in places:
            raw = one.tobytes()
            place = of_model.find(raw, last)  # constants mostly follow one another
            places[digest] = place = of_model.find(raw, 0, last + len(raw) - 1) if place < 0 else place
            last = last if place < 0 else place + len(raw)
        place = places.get(digest, -1)
        if place >= 0:
            stands.append(Stand(digest, False, place, *described))
        elif one.nbytes >= _LARGE:
            large[digest] = one
            stands.append(Stand(digest, True, 0, *described))
        else:
            stands.append(Stand("", False, end, *described))
            own.append(one.tobytes())
            end += one.nbytes
    header = {
        "inputs": launches.inputs,
        "written": [(shape, as_data_type(dtype).name) for shape, dtype in launches.written],
        "results": launches.results,
        "constants": stands,
        "image": len(launches.image),
    }
    return with_header(header, launches.image, *own), large


def _signatures(contents: bytes) -> tuple[Sequence[Signature], Sequence[Signature]]:
    inputs, outputs = (
        tuple(Signature(name, DataType[of].dtype, None if shape is None else tuple(shape)) for name, of, shape in some)
        for some in json.loads(contents)
    )
    return inputs, outputs
