"""The data types and the shapes of cases."""

from __future__ import annotations

from typing import Final

from benchmarks import options
from ep.include.data_type import as_data_type

DTYPES: Final = tuple(as_data_type(name).dtype for name in options.DTYPES)
"""The dtypes that cases are made for; the cases of a set may support only some of them."""

FLOATS: Final = DTYPES[:4]

RELATIVE_ERROR: Final = dict(zip(FLOATS, (2e-5, 1e-10, 1e-2, 6e-2), strict=True))
"""The relative error that two libraries' results of a transcendental function may have, by data type."""


def shape(size: int, num_dims: int) -> tuple[int, ...]:
    """Return dims of about `size` elements in all, as equal as powers of two can be; later dims are larger."""
    bits, dims = max(size, 1).bit_length() - 1, []
    for position in range(num_dims, 0, -1):
        dims.append(2 ** (bits // position))
        bits -= bits // position
    return tuple(dims)
