"""Plans from the disk, and the form of their files: launches, and where the constants that they read are."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from itertools import starmap
from typing import Any, Final, NamedTuple
from weakref import ref

import numpy as np

from ep.common.arrays.constants import CONSTANTS
from ep.common.arrays.on_device import copied_from_host
from ep.common.bounded_cache import MOST_IDLE
from ep.common.kernel_cache.headed import DamagedError, header_of, with_header
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

    image: see `Repeat`. inputs: the names, or other keys, of the arrays that they read. written: shape and dtype of
    those that they write. results: for each output the number of its written array, and its shape. constants: the
    arrays that the image needs.
    """

    image: Callable[[], bytes | None]
    inputs: Sequence[Any]
    written: Sequence[tuple[Any, Any]]
    results: Sequence[tuple[int, tuple[int, ...]]]
    constants: Sequence[NDArray]


class Stand(NamedTuple):
    """A constant of a plan: where its bytes are, and what they are.

    offset: in the contents of the origin; of others, in the plan itself. digest: of the contents; empty if they are in
    the plan. is_file: whether they have a file.
    """

    digest: str
    is_file: bool
    offset: int
    shape: tuple[int, ...]
    type_name: str

    @property
    def num_bytes(self) -> int:
        """The bytes of the constant."""
        return math.prod(self.shape) * DataType[self.type_name].itemsize


class Header(NamedTuple):
    """The header of a plan's file; after it come the image, and constants that are nowhere else.

    inputs, results: as for `Launches`. written: shapes and names of types. image: the number of its bytes.
    """

    inputs: tuple[str, ...]
    written: tuple[tuple[tuple[int, ...], str], ...]
    results: tuple[tuple[int, tuple[int, ...]], ...]
    constants: tuple[Stand, ...]
    image: int


class Contents(NamedTuple):
    """The contents of a plan's file. own: of the constants that are nowhere else."""

    header: Header
    image: bytes
    own: bytes


class Workspace:
    """Memory in which plans from the disk run one after another.

    functions: theirs, for this memory, by the ids of the plans. One lives as long as its plan.
    """

    def __init__(self) -> None:
        self.functions: dict[int, tuple[Callable[..., bool], Any]] = {}
        self._block: Array | None = None

    def keep(self, plan: StoredPlan, function: Callable[..., bool]) -> None:
        """Keep the function of a plan, which refers to the workspace."""
        self.functions[id(plan)] = function, ref(plan, partial(_forget, ref(self), id(plan)))

    def block(self, base: Arrays, num_bytes: int) -> Array:
        """Return so many bytes, or more."""
        size = -1 if self._block is None else self._block.nbytes
        if self._block is None or size < num_bytes:
            self.functions.clear()
            self._block = None  # frees the old memory before the new one is allocated
            self._block = base.empty((grown(size, num_bytes),), _BYTE)
        return self._block


def grown(size: int, needed: int) -> int:
    """Return the bytes of memory in the place of `size` that are too few, -1 for none. It grows by a quarter at least:
    of sizes that rise one by one, few need new memory, where all plans begin again."""
    return max(needed, size + size // 4)


def _forget(workspace: ref[Workspace], number: int, gone: Any) -> None:
    if (found := workspace()) is not None:
        found.functions.pop(number, None)


class StoredPlan(ProcessBound):
    """A plan from the disk. Several threads may run it, each in a workspace.

    holds: as for `BoundedCache`.
    """

    _other: Any = None  # a new plan

    def __init__(
        self,
        origin: Origin,
        contents: Contents,
        read_again: Callable[[], Contents | None],
        make: Callable[..., Any],
        reading: Callable[[], AbstractContextManager[Callable[[str], bytes | None]]],
        workspaces: list[Workspace],
    ) -> None:
        """contents: those of the file; `read_again` reads it again, for more memory. make: returns a new plan, as for
        `StoredPlans.plan`. workspaces: those that no thread uses now.

        reading: a block with the function that returns the contents of a constant with a file, by its digest; None for
        one that is not on disk.
        """
        self._origin, self._header, self._read_again, self._make = origin, contents.header, read_again, make
        self._contents: Contents | None = contents
        self._reading, self._workspaces = reading, workspaces
        self._inputs, self._results = self._header.inputs, self._header.results
        self._written = [(shape, DataType[name].dtype) for shape, name in self._header.written]
        self._gives_written = self._results == tuple((k, shape) for k, (shape, _) in enumerate(self._written))
        self._constants: list[Array] | None = None
        self.holds: Mapping[Any, int] = {id(self): len(contents.image) + len(contents.own)}
        self.holds |= {one.digest: one.num_bytes for one in self._header.constants if one.digest}

    def outputs(self, base: Arrays, values: Mapping[Any, Array], *told: Any) -> Sequence[Array]:
        """Return the outputs. values: the inputs, by name. told: what a new plan gets.

        There is a new plan from then on if the launches cannot be repeated: kernels or constants are no longer on disk,
        the file is damaged or of other inputs, an index is wrong, or another package has registered kernels meanwhile.
        """
        if self._other is not None or has_additions(base.device_type):
            return self._computed(base, values, told)
        try:
            workspace = self._workspaces.pop()
        except IndexError:
            workspace = Workspace()
        known = workspace.functions.get(id(self))
        run = self._restored(base, workspace, values) if known is None else known[0]
        written = [*starmap(base.empty, self._written)]
        done = run is not None and run(*map(values.__getitem__, self._inputs), *written)
        if len(self._workspaces) < MOST_IDLE:
            self._workspaces.append(workspace)
        if not done:
            return self._computed(base, values, told)
        return written if self._gives_written else results_in(written, self._results)

    def _computed(self, base: Arrays, values: Mapping[Any, Array], told: Sequence[Any]) -> Sequence[Array]:
        """Return the outputs by a new plan. What this one has in memory is freed."""
        if self._other is None:
            other = self._make(*told)
            self._other, self.holds, self._constants = other, other.holds, None
            for one in [*self._workspaces]:
                one.functions.pop(id(self), None)
        found: Sequence[Array] = self._other.outputs(base, values, *told)
        return found

    def _restored(self, base: Arrays, workspace: Workspace, values: Mapping[Any, Array]) -> Callable[..., bool] | None:
        contents, self._contents = self._contents or self._read_again(), None
        if contents is None or contents.header != self._header or not values.keys() >= {*self._inputs}:
            return None
        constants = self._constants
        if constants is None:
            stands = self._header.constants
            have_files, of_origin = any(one.is_file for one in stands), cache(self._origin.contents)
            try:
                with self._reading() if have_files else nullcontext(_no_file) as constant:
                    constants = [self._placed(base, contents.own, one, constant, of_origin) for one in stands]
            except _MissingError:
                return None
            finally:
                self._origin.forget()
        self._constants = constants
        found = base.restored(contents.image, constants, partial(workspace.block, base))
        if found is not None:
            workspace.keep(self, found)
        return found

    def _placed(
        self,
        base: Arrays,
        own: bytes,
        stand: Stand,
        constant: Callable[[str], bytes | None],
        of_origin: Callable[[], bytes],
    ) -> Array:
        """Return a constant on the device.

        own: those in the file of the plan. constant: reads one that has a file. of_origin: reads the contents of the
        origin, once for all constants. Raises _MissingError.
        """
        dtype, shape = DataType[stand.type_name].dtype, stand.shape

        def read() -> NDArray:
            raw, begin = own, stand.offset
            if stand.is_file:
                found = constant(stand.digest)
                if found is None:
                    raise _MissingError
                raw, begin = found, 0
            elif stand.digest:
                raw, begin = of_origin(), stand.offset
            if begin + stand.num_bytes > len(raw):
                raise _MissingError
            return np.frombuffer(raw, np.uint8, stand.num_bytes, begin).view(dtype).reshape(shape)

        if stand.digest:
            return CONSTANTS.found(base, stand.digest, dtype, shape, read)
        return copied_from_host(base, read())


def _no_file(digest: str) -> None:
    """Return that a constant is not on disk."""


class _MissingError(Exception):
    """Raised for a constant whose file has been removed or damaged."""


def unpacked(contents: bytes) -> Contents | None:
    """Return the parts of a file that `packed` has made; None if they are damaged, or of another version of ep."""
    try:
        header, begin = header_of(Header, contents)
    except DamagedError:
        return None
    own = begin + header.image
    found = Contents(header, contents[begin:own], contents[own:])
    return found if own <= len(contents) and _are_valid(header, len(found.own)) else None


def _are_valid(header: Header, num_own: int) -> bool:
    """Return whether a header refers to types, arrays and bytes that there are. num_own: bytes in the plan itself."""
    sizes = [math.prod(shape) for shape, _ in header.written]
    return (
        all(name in DataType.__members__ for *_, name in (*header.written, *header.constants))
        and all(number < len(sizes) and math.prod(shape) == sizes[number] for number, shape in header.results)
        and all(
            re.fullmatch("[0-9a-f]{64}", one.digest)
            if one.digest or one.is_file
            else one.offset + one.num_bytes <= num_own
            for one in header.constants
        )
    )


def digests_in(contents: bytes) -> list[str]:
    """Return the digests of a plan's constants; none of a plan of other sources of ep that cannot be read."""
    found = unpacked(contents)
    return [] if found is None else [one.digest for one in found.header.constants]


def packed(
    launches: Launches, image: bytes, of_origin: Callable[[], bytes], places: dict[str, int]
) -> tuple[bytes, dict[str, NDArray]]:
    """Return the contents of a file, and the constants that have files, by their digests.

    image: that of the launches, for whose constants on the host it is. of_origin: returns the contents of the origin.
    places: those of constants in these contents, by digest, -1 for others; it gets those that it lacks.
    """
    stands, own, end, last = [], list[bytes](), 0, 0
    large = dict[str, NDArray]()
    for one in launches.constants:
        described = one.shape, as_data_type(one.dtype).name
        digest = CONSTANTS.digest(one) if one.nbytes >= _LEAST else ""
        if digest and digest not in places:
            raw, contents = one.tobytes(), of_origin()
            place = contents.find(raw, last)  # constants mostly follow one another
            places[digest] = place = contents.find(raw, 0, last + len(raw) - 1) if place < 0 else place
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
    written = tuple([(tuple(shape), as_data_type(dtype).name) for shape, dtype in launches.written])
    results = tuple([(number, tuple(shape)) for number, shape in launches.results])
    header = Header(tuple(launches.inputs), written, results, tuple(stands), len(image))
    return with_header(header, image, *own), large
