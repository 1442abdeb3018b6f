"""Steps that read or write rows by indices: those of gather and of its gradient."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ep.common.arrays.index_types import resolved_type
from ep.common.primitive.broadcast import Dims
from ep.common.primitive.gather_view import gather_view
from ep.include.arrays import RESULT, Placeholder
from ep.include.data_type import as_data_type
from ep.ops.kernels import Calls, Check, Launch, Plan, PrimitiveExists, Subject, Value


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


def checked(
    indices: Value, dtype: np.dtype[Any], shape: Dims, size: int, mode: str, names: Mapping[str, str] | None = None
) -> tuple[Sequence[Check], Value, np.dtype[Any]]:
    """Return the step that checks indices, if one is needed, and the value and the type of those to be read.

    dtype, shape: of the indices. size, mode, names: as in Check.
    """
    if mode == "zero" or 0 in shape:  # the primitive reads them as they are
        return (), indices, dtype
    check = Check(indices, size, mode, names)
    return (check,), indices if mode == "raise" else check, resolved_type(dtype, size, mode)


def indexed(calls: Calls, primitive: Callable[[Any], Any], rows: Dims, *, has_batches: bool) -> Plan:
    """Return the launch of a primitive with resolved indices, of an operator with the attributes of `gather`.

    rows: the shape of the array whose rows the indices, the second input, select.
    """
    batch_dims, size, mode, offset = (calls.attributes[name] for name in ("batch_dims", "size", "mode", "offset"))
    sizes = gather_view(rows, calls.attributes["axis"], batch_dims)[0 if has_batches else 1 :]
    shape, given = calls.shapes[1], calls.subject.data_types["indices"].dtype
    steps, indices, dtype = checked(Placeholder(1), given, shape, size, mode)
    arguments = *sizes, Placeholder(0), math.prod(shape[batch_dims:]), indices, RESULT, offset
    return Plan(*steps, Launch(primitive(dtype), *arguments))
