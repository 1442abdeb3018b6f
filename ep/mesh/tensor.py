"""GlobalTensor: a tensor on a mesh, of which each rank has its piece."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ep.common.arrays.indexing import reshaped
from ep.common.arrays.operators import Operators
from ep.include.arrays import Array, ArrayLike, Arrays, Placed
from ep.mesh import report
from ep.mesh.boxing import moved
from ep.mesh.operands import MeshOperands
from ep.mesh.placement import Placement
from ep.mesh.world import world
from ep.ops.devices import arrays_of
from ep.sbp import Broadcast, PartialMax, PartialMin, Sbp, parse_many, piece_shape_on, reshaped_sbps, route

Dims = tuple[int, ...]
SbpLike = str | Sbp | Sequence[Sbp]
"""One SBP for each axis of the mesh, as objects or as text: "S(0)", or "S(0),B" for two axes."""


class GlobalTensor(Operators, Placed):
    """A tensor of a logical `shape` on a `placement`, with one SBP for each axis of the mesh in `sbp`.

    Operators of `ep.ops` accept and return GlobalTensors.
    """

    _internal = frozenset(("boxed", "operands"))
    shape: Dims

    def __init__(self, local: Array, shape: Dims, placement: Placement, sbp: tuple[Sbp, ...]) -> None:
        """local: this rank's piece, as `Arrays.as_buffer` returns it. Nothing is checked; `to_global` checks it."""
        self._local, self.shape, self.placement, self.sbp = local, shape, placement, sbp
        self.dtype: np.dtype[Any] = local.dtype

    @property
    def size(self) -> int:
        """The number of elements of the whole tensor."""
        return math.prod(self.shape)

    @property
    def operands(self) -> MeshOperands:
        """The reader of operands that operators use for it."""
        return MeshOperands(self.placement, self._arrays(), GlobalTensor)

    def to_local(self) -> Array:
        """Return this rank's piece, on its device and without a copy."""
        return self._local

    def to(self, sbp: SbpLike) -> GlobalTensor:
        """Return the same tensor resharded. Every rank must call it.

        sbp: one for each axis of the mesh, such as "S(0)" or "S(0),B".

        Raises ValueError for an axis that does not exist, and for a PMax or PMin of complex numbers.
        """
        return self.boxed(placed_as(sbp, self.placement, self.shape, self.dtype, "the tensor"), "to")

    def boxed(self, target: tuple[Sbp, ...], name: str) -> GlobalTensor:
        """As `to`, for SBPs that were checked already; name: the name of the change in reports."""
        mesh, coordinates = self.placement.mesh, self.placement.coordinates
        steps = route(self.sbp, target, self.shape, self.dtype.itemsize, mesh)
        if not steps:
            return GlobalTensor(self._local, self.shape, self.placement, target)
        change = report.Change(name, self.shape, self.sbp, target, steps)
        report.note(change)
        arrays, local, here = self._arrays(), self._local, list(self.sbp)
        with world().doing(change.what):
            for axis, move in steps:
                whole = piece_shape_on(self.shape, here, mesh, coordinates, but=axis)
                local = moved(arrays, self.placement.groups[axis], local, move, whole)
                here[axis] = move.target
        return GlobalTensor(local, self.shape, self.placement, target)

    def reshape(self, *shape: Any) -> GlobalTensor:
        """Return the same tensor in another shape, of which one size may be -1. Every rank must call it.

        It stays split where each rank's piece is the same part of the elements; otherwise it is broadcast first, along
        this axis of the mesh.
        """
        sizes = reshaped(self, shape)
        first, target = reshaped_sbps(self.shape, sizes, self.sbp, self.placement.mesh)
        tensor = self.boxed(first, "reshape")
        piece = piece_shape_on(sizes, target, self.placement.mesh, self.placement.coordinates)
        return GlobalTensor(tensor.to_local().reshape(piece), sizes, self.placement, target)

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return the whole tensor as an ndarray, on every rank. Every rank must call it."""
        whole = self.boxed((Broadcast(),) * len(self.sbp), "numpy")
        return self._arrays().copy_to_host(whole.to_local())

    def _arrays(self) -> Arrays:
        arrays = arrays_of((self._local,), ("local",))
        assert isinstance(arrays, Arrays)
        return arrays

    def __array__(self, *_: Any, **__: Any) -> Any:
        """Refuse implicit conversion to an ndarray."""
        raise TypeError("a GlobalTensor is not gathered silently; numpy() does it, on every rank")

    def __repr__(self) -> str:
        lies = ",".join(map(str, self.sbp))
        return f"<GlobalTensor of {self.dtype}, shape {self.shape}, {lies} on {self.placement}>"


def to_global(local: ArrayLike, placement: Placement, sbp: SbpLike) -> GlobalTensor:
    """Return the tensor whose pieces the ranks give. Every rank must call it.

    local: this rank's piece, an array on any device. Of a split axis, the first `n mod ranks` pieces are one element
        longer. Of a broadcast tensor, all ranks must give the same values, which is not checked.
    placement: the mesh.
    sbp: one for each axis of the mesh: "S(0)", or "S(0),B".

    The logical shape follows from the pieces. Raises, on all ranks, ValueError for a piece of the wrong shape and
    for an SBP that does not fit; TypeError if the ranks' dtypes differ or `local` is not an array.
    """
    buffer, every = _alike("to_global", local, "local", placement, sbp)
    sbps = world().on_all(lambda: _parsed(sbp, placement, "local"), "to_global")
    shape = _whole_shape([shape for shape, _ in every], placement.mesh, sbps)
    placed_as(sbps, placement, shape, buffer.dtype, "local")
    return GlobalTensor(buffer, shape, placement, sbps)


def from_whole(array: ArrayLike, placement: Placement, sbp: SbpLike) -> GlobalTensor:
    """Return a tensor of which every rank has the whole. Every rank must call it.

    array: the whole tensor, on any device, the same on all ranks, which is not checked. Of a memory-mapped file, each
        rank reads no more than its piece.
    placement, sbp: as in `to_global`. For a P, the first rank has the value and the others zeros.

    Raises the errors of `to_global`, and ValueError if shapes differ.
    """
    buffer, every = _alike("from_whole", array, "array", placement, sbp)
    shape = tuple(buffer.shape)
    for rank, (other, _) in enumerate(every):
        if other != every[0][0]:
            raise ValueError(f"array has shape {other} on rank {rank}, and {every[0][0]} on rank 0")
    target = placed_as(sbp, placement, shape, buffer.dtype, "array")
    return GlobalTensor(buffer, shape, placement, (Broadcast(),) * len(target)).boxed(target, "from_whole")


def placed_as(sbp: SbpLike, placement: Placement, shape: Dims, dtype: np.dtype[Any], name: str) -> tuple[Sbp, ...]:
    """Return the SBPs in `sbp`, one for each axis of the mesh; ValueError if the tensor cannot have them."""
    sbps = _parsed(sbp, placement, name)
    for one in sbps:
        one.check(shape, name)
        if isinstance(one, PartialMax | PartialMin) and dtype.kind == "c":
            raise ValueError(f"{name} has dtype {dtype}, which has no order, and so no {one}")
    return sbps


def _parsed(sbp: SbpLike, placement: Placement, name: str) -> tuple[Sbp, ...]:
    if not isinstance(placement, Placement):
        raise TypeError(f"placement must be a Placement, not {type(placement).__qualname__}")
    sbps = parse_many(sbp) if isinstance(sbp, str) else (sbp,) if isinstance(sbp, Sbp) else tuple(sbp)
    if not all(isinstance(one, Sbp) for one in sbps):
        raise TypeError(f"sbp must be such as 'S(0)' or Split(0), not {sbp!r}")
    if len(sbps) != len(placement.mesh):
        given = ",".join(map(str, sbps))
        raise ValueError(f"sbp {given} of {name} is for a mesh of {len(sbps)} axes, and this is {placement}")
    return sbps


def _buffer(value: ArrayLike, name: str) -> Array:
    arrays = arrays_of((value,), (name,))
    if not isinstance(arrays, Arrays):
        raise TypeError(f"{name} is a GlobalTensor already")
    return arrays.as_buffer(value, name)


def _alike(
    what: str, value: ArrayLike, name: str, placement: Placement, sbp: SbpLike
) -> tuple[Array, list[tuple[Dims, str]]]:
    """Return this rank's array, and the shapes and dtypes of all ranks' arrays.

    what: a description of the call. Raises on all ranks if one gives no array, or if they differ in anything but
        shapes.
    """
    given: list[Array] = []

    def mine() -> tuple[Any, ...]:
        buffer = _buffer(value, name)
        given.append(buffer)
        device = type(_buffer(buffer, "local")).__qualname__
        return tuple(buffer.shape), buffer.dtype.name, device, repr(placement), str(sbp)

    every = world().from_all(mine, what)
    for position, noun in ((1, "dtype"), (2, "arrays of type"), (3, "placement"), (4, "sbp")):
        for rank, one in enumerate(every):
            if one[position] != every[0][position]:
                kind = TypeError if position < 3 else ValueError
                raise kind(f"{noun} {one[position]} on rank {rank}, and {every[0][position]} on rank 0")
    return given[0], [(one[0], one[1]) for one in every]


def _whole_shape(shapes: Sequence[Dims], mesh: Dims, sbps: tuple[Sbp, ...]) -> Dims:
    """Return the logical shape, from the shapes of all pieces; ValueError if one is wrong."""
    places = [tuple(map(int, np.unravel_index(rank, mesh))) for rank in range(math.prod(mesh))]
    for rank, shape in enumerate(shapes):
        if len(shape) != len(shapes[0]):
            raise ValueError(f"local has shape {shape} on rank {rank}, and {shapes[0]} on rank 0")
    for sbp in sbps:
        sbp.check(shapes[0], "local")
    whole = []
    for axis, size in enumerate(shapes[0]):
        splits = [getattr(sbp, "axis", None) == axis for sbp in sbps]
        along = [
            shape[axis]
            for shape, place in zip(shapes, places, strict=True)
            if all(split or coordinate == 0 for split, coordinate in zip(splits, place, strict=True))
        ]
        whole.append(sum(along) if any(splits) else size)
    for rank, (shape, place) in enumerate(zip(shapes, places, strict=True)):
        expected = piece_shape_on(tuple(whole), sbps, mesh, place)
        if shape != expected:
            lies = ",".join(map(str, sbps))
            raise ValueError(
                f"local has shape {shape} on rank {rank}; {lies} of {tuple(whole)}, which the pieces make together, "
                f"has {expected} there"
            )
    return tuple(whole)
