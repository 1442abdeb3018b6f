"""Random choices."""

from collections.abc import Sequence
from typing import Any

import numpy as np

SMALL = (1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 11, 13)
EDGES = (15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 257, 1023, 1025, 4095, 4097)
LONG = (8191, 8193, 16_411, 33_331, 50_021, 100_003, 133_333)  # beyond the size that a single thread processes


def pick(rng: np.random.Generator, choices: Sequence[Any]) -> Any:
    """Return one of `choices`, unchanged."""
    return choices[int(rng.integers(len(choices)))]


def chance(rng: np.random.Generator, probability: float) -> bool:
    """Return True with this probability."""
    return bool(rng.random() < probability)


def size(rng: np.random.Generator, most: int) -> int:
    """Return a size of an axis, at least 1: small, at the edge of a block, or beyond a grain.

    The size is 1 if the drawn one exceeds `most`.
    """
    drawn = int(pick(rng, SMALL if chance(rng, 0.7) else EDGES if chance(rng, 0.7) else LONG))
    return drawn if drawn <= most else 1


def dims(rng: np.random.Generator, most: int, max_num_dims: int = 8) -> tuple[int, ...]:
    """Return sizes of 0 to `max_num_dims` axes with at most about `most` elements together; now and then one is 0."""
    sizes: list[int] = []
    for _ in range(int(rng.integers(0, max_num_dims + 1))):
        sizes.append(size(rng, most))
        most //= sizes[-1]
    if sizes and chance(rng, 0.05):
        sizes[int(rng.integers(len(sizes)))] = 0
    rng.shuffle(sizes)
    return tuple(sizes)


def narrowed(rng: np.random.Generator, whole: tuple[int, ...]) -> tuple[int, ...]:
    """Return dims that broadcast to `whole`: some axes are 1, some leading axes are left out."""
    kept = whole[int(rng.integers(len(whole) + 1)) :] if chance(rng, 0.4) else whole
    odds = pick(rng, (0.0, 0.3, 0.7))
    return tuple(1 if chance(rng, odds) else axis for axis in kept)


def spelled(rng: np.random.Generator, number: int) -> Any:
    """Return the same integer, sometimes as another type that Launch accepts."""
    if chance(rng, 0.9):
        return number
    return pick(rng, (np.int64(number), bool(number) if number in (0, 1) else np.int32(number)))


def spelled_dims(rng: np.random.Generator, sizes: tuple[int, ...]) -> Any:
    """Return the same dims, sometimes as another sequence that Launch accepts."""
    if chance(rng, 0.8):
        return sizes
    return pick(rng, (list(sizes), np.array(sizes, np.int64), tuple(np.int64(axis) for axis in sizes)))
