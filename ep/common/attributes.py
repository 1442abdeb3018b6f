"""The attribute values that the functors of all devices are given."""

from __future__ import annotations

from ep.common.scalar import convert_scalar
from ep.include.data_type import DataType
from ep.include.primitive.op_table import attributes_of
from ep.include.primitive.primitive import Request


def attribute_values(request: Request) -> tuple[float, ...]:
    """Return the values of a request's attributes, those that are compared with stored elements rounded as they were.

    16-bit numbers are computed in float32, attributes too, and stored with a second rounding.
    """
    declared = attributes_of(request.op)
    return tuple(
        _as_stored(value, request.dtypes[0]) if attribute.stored and request.dtypes else value
        for attribute, value in zip(declared, request.attributes, strict=True)
    )


def _as_stored(value: float, data_type: DataType) -> float:
    computed = convert_scalar(value, DataType.kFloat, "attribute") if data_type.itemsize == 2 else value
    return float(convert_scalar(computed, data_type, "attribute"))
