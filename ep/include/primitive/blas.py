"""The transposes of the matrix products."""

from enum import Enum


class BlasTransposeType(Enum):
    """Whether a matrix is used as it is in memory or transposed (`blas.h`).

    T of a complex matrix is its conjugate transpose, as upstream has it on every device.
    """

    N = 0
    T = 1
