"""gather: elements of an array along one axis, chosen by indices."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ep.common.primitive.gather_view import gather_view
from ep.include.arrays import Array, ArrayLike
from ep.include.device_type import DeviceType
from ep.include.primitive.batch_gather import BatchGather, BatchGatherFactory
from ep.include.primitive.gather import Gather, GatherFactory
from ep.include.primitive.registry import RequirePrimitive
from ep.ops.devices import arrays_of
from ep.ops.indices import as_indices, resolved
from ep.ops.shapes import from_front


def gather(
    params: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    batch_dims: int = 0,
    mode: str = "raise",
    out: Array | None = None,
) -> Array:
    """Return the elements of `params` that `indices` names along `axis`, as `tensorflow.gather`.

    params: array of at least one axis.
    indices: integers; their first `batch_dims` axes are those of params.
    axis: the axis to gather along, `batch_dims` where left out; negative: counted from the last axis of params.
    batch_dims: how many leading axes params and indices share, `0 <= batch_dims <= axis`; negative: counted from
        the last axis of indices.
    mode: what becomes of an index outside `0 ... n - 1`. "raise": IndexError, which says where. "wrap_negative":
        -n ... -1 count from the end, IndexError past that. "zero": zeros. "clip": the nearest index, as
        `numpy.take` has it. A device that works on while the host goes on does not wait for an IndexError: the
        elements are zeros, and the error is raised by what waits for the result (`copy_to_host`, `Stream.Sync`).
    out: where to put the result, an array of its shape and dtype.

    The result has the shape `params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:]` and the
    dtype of params. Raises TypeError for indices that are no integers, ValueError for axes that do not agree; nothing
    has been written then, nor with an IndexError of the CPU.
    """
    arrays = arrays_of((params, indices), ("params", "indices"))
    params = arrays.as_buffer(params, "params")
    indices = as_indices(arrays, indices)
    axis, batch_dims = _axes(params.shape, indices.shape, axis, batch_dims)
    shape = params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1 :]
    indices = resolved(arrays, indices, params.shape[axis], mode)
    dst = arrays.destination(shape, params.dtype, out)
    view = gather_view(params.shape, axis, batch_dims)
    num_indices = math.prod(indices.shape[batch_dims:])
    if batch_dims == 0:
        primitive = _gather(arrays.device_type, params.dtype, indices.dtype)
        primitive.Launch(arrays.stream, view.outer, view.gather, view.inner, params, num_indices, indices, dst)
    else:
        batch_primitive = _batch_gather(arrays.device_type, params.dtype, indices.dtype)
        batch_primitive.Launch(arrays.stream, *view, params, num_indices, indices, dst)
    return arrays.delivered(dst, out)


def _axes(
    params_shape: tuple[int, ...], indices_shape: tuple[int, ...], axis: int | None, batch_dims: int
) -> tuple[int, int]:
    """Return axis and batch_dims, counted from the front, where they fit the shapes."""
    batch = from_front(batch_dims, "batch_dims", len(indices_shape), len(indices_shape) + 1)
    along = batch if axis is None else from_front(axis, "axis", len(params_shape), len(params_shape))
    if not batch <= along < len(params_shape):
        raise ValueError(
            f"batch_dims is {batch} and axis is {along}; params of shape {params_shape} needs "
            f"0 <= batch_dims <= axis < {len(params_shape)}"
        )
    if params_shape[:batch] != indices_shape[:batch]:
        raise ValueError(
            f"params {params_shape} and indices {indices_shape} differ in the first {batch} axes, the batch dims"
        )
    return along, batch


@cache
def _gather(device_type: DeviceType, params_dtype: np.dtype[Any], indices_dtype: np.dtype[Any]) -> Gather:
    return RequirePrimitive(GatherFactory, device_type, params_dtype, indices_dtype)


@cache
def _batch_gather(device_type: DeviceType, params_dtype: np.dtype[Any], indices_dtype: np.dtype[Any]) -> BatchGather:
    return RequirePrimitive(BatchGatherFactory, device_type, params_dtype, indices_dtype)
