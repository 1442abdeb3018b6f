"""The attribute values that the functors of all devices receive."""

from __future__ import annotations

from ep.common.scalar import convert_scalar
from ep.include.data_type import DataType
from ep.include.number_kind import FLOATS
from ep.include.primitive.op_table import attributes_of
from ep.include.primitive.primitive import Request


def attribute_values(request: Request) -> tuple[float, ...]:
    """Return the values of a request's attributes. For float32 and 16-bit types they are rounded to float32.

    Each device computes some ops on these types in float64; the rounding keeps attributes the same on all devices.
    An attribute that is compared with stored elements is rounded as they are: once more if they have 16 bits.
    """
    declared, data_type = attributes_of(request.op), (request.dtypes or (DataType.kDouble,))[0]
    types = [DataType.kFloat] if data_type in FLOATS and data_type is not DataType.kDouble else []
    return tuple(
        _rounded(value, [*types, data_type] if attribute.stored else types)
        for attribute, value in zip(declared, request.attributes, strict=True)
    )


def _rounded(value: float, types: list[DataType]) -> float:
    for data_type in types:
        value = float(convert_scalar(value, data_type, "attribute"))
    return value
