"""Whether CUDA is Numba's simulator. Apart from the driver, which is no part of what kernels are compiled from."""

from __future__ import annotations

from ep.common.environment import NUMBA_ENABLE_CUDASIM


def is_simulated() -> bool:
    """Whether the environment asks for Numba's simulator."""
    return NUMBA_ENABLE_CUDASIM.value()
