"""Plans from the disk, and the form of their files: launches, and where the constants that they read are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ep.common.arrays.constants import CONSTANTS
from ep.common.kernel_cache.headed import header_of, with_header
from ep.include.additions import has_additions
from ep.include.arrays import Array, Arrays
from ep.include.data_type import DataType, as_data_type
from ep.include.process import ProcessBound
from ep.include.recording import results_in

NDArray = np.ndarray[Any, Any]
_LEAST: Final = 64
"""The fewest bytes of a constant that is looked for in the contents of the origin."""
_LARGE: Final = 2**12
"""The fewest bytes of a constant that has a file."""
_BYTE: Final = np.dtype(np.uint8)


class Origin(NamedTuple):
    """The graph that plans are made of.

    digest: SHA-256 of it; empty if it has none, and no plans on disk. contents: returns bytes that may have constants
    of plans, such as the file of a model; raises OSError or ValueError if they are no longer those of the digest.
    forget: frees what it has read.
    """

    digest: str
    contents: Callable[[], bytes] = bytes
    forget: Callable[[], None] = lambda: None


class Launches(NamedTuple):
    """The recorded launches of a plan.

    image: see `Repeat`. inputs: the names, or the numbers, of the arrays that they read. written: shape and dtype of
    those that they write. results: for each output the number of its written array, and its shape. constants: the
    arrays that the image needs, on the host.
    """

    image: bytes
    inputs: Sequence[Any]
    written: Sequence[tuple[Sequence[int], np.dtype[Any]]]
    results: Sequence[tuple[int, Sequence[int]]]
    constants: Sequence[NDArray]


class Stand(NamedTuple):
    """A constant of a plan: where its bytes are, and what they are.

    offset: in the contents of the origin; of others, in the plan itself. digest: of the contents; empty if they are in
    the plan. is_file: whether they have a file.
    """

    digest: str
    is_file: bool
    offset: int
    shape: Sequence[int]
    type_name: str


class Workspace:
    """Memory in which plans from the disk run one after another.

    functions: theirs, for this memory. One lives as long as its plan, which refers to the workspace.
    """

    def __init__(self) -> None:
        self.functions = WeakKeyDictionary[StoredPlan, Callable[..., bool]]()
        self._block: Array | None = None

    def block(self, base: Arrays, num_bytes: int) -> Array:
        """Return so many bytes, or more."""
        if self._block is None or self._block.nbytes < num_bytes:
            self.functions.clear()
            self._block = base.empty((num_bytes,), _BYTE)
        return self._block


class StoredPlan(ProcessBound):
    """A plan from the disk. Several threads may run it, each in a workspace."""

    def __init__(
        self,
        origin: Origin,
        contents: bytes,
        read_again: Callable[[], bytes | None],
        reading: Callable[[], AbstractContextManager[Callable[[str], bytes | None]]],
        workspaces: list[Workspace],
    ) -> None:
        """contents: those of the file; `read_again` reads it again, for more memory. workspaces: those that no thread
        uses now.

        reading: a block with the function that returns the contents of a constant with a file, by its digest; None for
        one that is not on disk.
        """
        self._origin, self._contents, self._read_again = origin, contents, read_again
        self._reading, self._workspaces = reading, workspaces
        header, begin = header_of(contents)
        self._inputs: list[Any] = header["inputs"]
        self._written = [(tuple(shape), DataType[name].dtype) for shape, name in header["written"]]
        self._results = [(number, tuple(shape)) for number, shape in header["results"]]
        self._gives_written = self._results == [(k, shape) for k, (shape, _) in enumerate(self._written)]
        self._stands = [*_stands(header)]
        self._image, self._own = begin, begin + header["image"]
        self._constants: list[Array] | None = None

    def outputs(self, base: Arrays, values: Mapping[Any, Array]) -> tuple[Array, ...] | None:
        """Return the outputs. values: the inputs, by name or by number.

        Returns None if the launches cannot be repeated: kernels or constants are no longer on disk, an index is wrong,
        or another package has registered kernels meanwhile.
        """
        if has_additions():
            return None
        try:
            workspace = self._workspaces.pop()
        except IndexError:
            workspace = Workspace()
        run = workspace.functions.get(self) or self._restored(base, workspace)
        written = [base.empty(*one) for one in self._written]
        done = run is not None and run(*[values[name] for name in self._inputs], *written)
        self._workspaces.append(workspace)
        if not done:
            return None
        return tuple(written if self._gives_written else results_in(written, self._results))

    def _restored(self, base: Arrays, workspace: Workspace) -> Callable[..., bool] | None:
        contents, self._contents = self._contents or self._read_again() or b"", b""
        if not contents:
            return None
        if self._constants is None:
            have_files, of_origin = any(one.is_file for one in self._stands), cache(self._origin.contents)
            try:
                with self._reading() if have_files else nullcontext(_no_file) as constant:
                    self._constants = [self._placed(base, contents, one, constant, of_origin) for one in self._stands]
            except _MissingError:
                return None
            finally:
                self._origin.forget()
        image = contents[self._image : self._own]
        found = base.restored(image, self._constants, partial(workspace.block, base))
        if found is not None:
            workspace.functions[self] = found
        return found

    def _placed(
        self,
        base: Arrays,
        contents: bytes,
        stand: Stand,
        constant: Callable[[str], bytes | None],
        of_origin: Callable[[], bytes],
    ) -> Array:
        """Return a constant on the device.

        contents: those of the file. constant: reads one that has a file. of_origin: reads those of the origin, once
        for all constants.
        """
        dtype, shape = DataType[stand.type_name].dtype, tuple(stand.shape)

        def read() -> NDArray:
            raw, begin = contents, self._own + stand.offset
            if stand.is_file:
                found = constant(stand.digest)
                if found is None:
                    raise _MissingError
                raw, begin = found, 0
            elif stand.digest:
                raw, begin = of_origin(), stand.offset
            count = int(np.prod(shape)) * dtype.itemsize
            return np.frombuffer(raw, np.uint8, count, begin).view(dtype).reshape(shape)

        if stand.digest:
            return CONSTANTS.found(base, stand.digest, dtype, shape, read)
        return base.copy_from_host(read())


def _no_file(digest: str) -> None:
    """Return that a constant is not on disk."""


class _MissingError(Exception):
    """Raised for a constant whose file has been removed or damaged."""


def _stands(header: Mapping[str, Any]) -> Iterator[Stand]:
    return (Stand(*one) for one in header["constants"])


def digests_in(contents: bytes) -> list[str]:
    """Return the digests of a plan's constants. Plans of earlier sources of ep may have a header without any."""
    return [first for first, *_ in header_of(contents)[0]["constants"] if isinstance(first, str)]


def packed(launches: Launches, of_origin: bytes) -> tuple[bytes, dict[str, NDArray]]:
    """Return the contents of a file, and the constants that have files, by their digests.

    of_origin: the contents of the origin.
    """
    stands, own, end, last = [], list[bytes](), 0, 0
    places, large = dict[str, int](), dict[str, NDArray]()
    for one in launches.constants:
        described = one.shape, as_data_type(one.dtype).name
        digest = CONSTANTS.digest(one) if one.nbytes >= _LEAST else ""
        if digest and digest not in places:
            raw = one.tobytes()
            place = of_origin.find(raw, last)  # constants mostly follow one another
            places[digest] = place = of_origin.find(raw, 0, last + len(raw) - 1) if place < 0 else place
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
