"""The arguments, in numbered pieces; any process can make a piece from its number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

Array = np.ndarray[Any, Any]

SEED: Final = 20240607
_PIECE: Final = 2**20


class Arguments(Protocol):
    """`size` arguments in `num_pieces` pieces."""

    @property
    def size(self) -> int: ...

    @property
    def num_pieces(self) -> int: ...

    def piece(self, number: int) -> Array:
        """Return the arguments of one piece, the same at every call."""


@dataclass(frozen=True)
class Sample:
    """Finite numbers of both signs: half evenly among all numbers, half evenly in the exponent around 1."""

    dtype: np.dtype[Any]
    count: int

    @property
    def num_pieces(self) -> int:
        return -(-self.count // _PIECE)

    @property
    def size(self) -> int:
        return sum(4 * self._steps(number) for number in range(self.num_pieces))

    def _steps(self, number: int) -> int:
        return max(min(_PIECE, self.count - number * _PIECE) // 4, 1)

    def piece(self, number: int) -> Array:
        rng, steps = np.random.default_rng((SEED, number)), self._steps(number)
        bits = np.dtype(f"u{self.dtype.itemsize}")
        largest = int(np.array(np.finfo(self.dtype).max).view(bits))
        # each piece covers all numbers, with a random one in each step: the ends of steps would all end in zero bits
        width = largest / steps
        anywhere = (np.arange(steps) * width + rng.random(steps) * width).astype(bits).view(self.dtype)
        around_1 = (2.0 ** rng.uniform(-12, 12, steps)).astype(self.dtype)
        magnitudes = np.concatenate([anywhere, around_1])
        return np.concatenate([magnitudes, -magnitudes])


@dataclass(frozen=True)
class AllFloat32:
    """Every float32, including infinities and NaNs."""

    size: int = 2**32
    num_pieces: int = 2**32 // _PIECE

    def piece(self, number: int) -> Array:
        first = number * _PIECE
        return np.arange(first, first + _PIECE, dtype=np.uint32).view(np.float32)
