"""Launches that read or write rows by indices: those of gather and of its gradient."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.gather_view import gather_view
from ep.include.arrays import RESULT, Array, Arrays, Placeholder
from ep.include.data_type import as_data_type
from ep.ops.indices import resolved
from ep.ops.kernels import Calls, Check, Launch, Launches, Plan, PrimitiveExists, Subject


class ForIndices(PrimitiveExists):
    """The condition that there is a primitive for the type of the first indices, or for that of resolved ones.

    It makes a function that returns the primitive for a type of resolved indices.
    """

    def make(self, subject: Subject) -> Callable[[np.dtype[Any]], Any]:
        name = next(key for key in subject.data_types if key in ("indices", "multi_index"))

        @cache
        def primitive(dtype: np.dtype[Any]) -> Any:
            types = {**subject.data_types, name: as_data_type(dtype)}
            return PrimitiveExists.make(self, subject._replace(data_types=types))

        return primitive


def for_indices(factory: type[Any], *arguments: Any, **named: Any) -> PrimitiveExists:
    """Return such a condition; the arguments are those of `primitive_exists`."""
    return ForIndices(factory, arguments, tuple(named.items()))


def indexed(calls: Calls, primitive: Callable[[Any], Any], rows: Dims, *, has_batches: bool) -> Launches:
    """Return the launch of a primitive with resolved indices, of an operator with the attributes of `gather`.

    rows: the shape of the array whose rows the indices, the second input, select.
    """
    batch_dims, size, mode, offset = (calls.attributes[name] for name in ("batch_dims", "size", "mode", "offset"))
    sizes = gather_view(rows, calls.attributes["axis"], batch_dims)[0 if has_batches else 1 :]
    num_indices = math.prod(calls.shapes[1][batch_dims:])
    if mode in ("raise", "zero"):  # indices are read as they are
        arguments = *sizes, Placeholder(0), num_indices, Placeholder(1), RESULT, offset
        as_given = primitive(calls.subject.data_types["indices"].dtype)
        return Plan(*[Check(Placeholder(1), size, mode)] * (mode == "raise"), Launch(as_given, *arguments))

    def launches(arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        array, indices = inputs
        indices = resolved(arrays, indices, size, mode)
        primitive(indices.dtype).Launch(arrays.stream, *sizes, array, num_indices, indices, outputs[0], offset)

    return launches
