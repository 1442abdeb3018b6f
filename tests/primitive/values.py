"""Operands and attributes that ops are launched with, and a check of the bits of results."""

from functools import cache
from itertools import product
from typing import Any

import numpy as np

from ep.include import DataType
from ep.include.primitive import BinaryOp, UnaryOp
from ep.include.primitive.op_table import attributes_of

SEED = 20240611

MORE_ATTRIBUTES: dict[UnaryOp | BinaryOp, list[tuple[float, ...]]] = {
    UnaryOp.kElu: [(0.3,), (0.0,), (-2.0,)],
    UnaryOp.kCelu: [(0.3,), (2.5,)],
    UnaryOp.kHardShrink: [(0.0,), (-1.0,), (1.7,)],
    UnaryOp.kHardTanh: [(-0.3, 2.2), (0.0, 6.0), (2.0, 1.0)],
    UnaryOp.kLeakyRelu: [(0.3,), (-1.5,), (1.0,)],
    UnaryOp.kSoftShrink: [(0.0,), (1.7,), (-1.0,)],
    UnaryOp.kSoftPlus: [(2.0, 20.0), (0.25, 1.0), (-1.0, 20.0), (1.0, np.inf)],
    UnaryOp.kThreshold: [(0.5, -7.0), (-3.0, 0.1), (0.0, np.inf)],
    BinaryOp.kScalarBasePowerGrad: [(c,) for c in (2.0, 3.0, 0.5, 1.0, 0.0, -1.0, -2.0, 0.1, -3.3, 2.5)],
    BinaryOp.kScalarExpPowerGrad: [(c,) for c in (2.0, 10.0, 0.3, 1.0, 1.001, 0.0, -2.0, np.inf)],
    BinaryOp.kEluBackwardWithDyX: [(0.3,), (0.0,), (-2.5,)],
    BinaryOp.kCeluBackwardWithDyY: [(0.3,), (2.5,)],
    BinaryOp.kHardtanhBackwardWithDyY: [(-0.3, 2.2), (0.0, 6.0)],
    BinaryOp.kLeakyReluBackwardWithDyX: [(0.3,), (-1.5,)],
    BinaryOp.kSoftplusBackwardWithDyX: [(2.0, 5.0), (0.3, 20.0), (1.7, np.inf), (-0.7, 1.0)],
    BinaryOp.kThresholdBackwardWithDyX: [(0.0,), (0.1,), (-3.0,)],
}
"""Attributes to test in addition to the defaults."""

CORNERS = [0.5, 1, 1.5, 2, 2.2, 3, 0.1, 0.3, 6, 8, 9, 10, 13, 14.5, 16, 20, 38.5, 40, 66.7, 80, 88.37, 88.72, 87.34]
CORNERS += [103.97, 110, 128, 149, 200, 220, 700, 708.4, 709.78, 745.2, 1022, 1024, 1074, 1500]


def attribute_sets(op: UnaryOp | BinaryOp) -> list[tuple[Any, ...]]:
    """Return the default attributes of an op, if it has them, and others."""
    defaults = tuple(attribute.default for attribute in attributes_of(op))
    return ([] if None in defaults else [defaults]) + MORE_ATTRIBUTES.get(op, [])


def crossed(values: np.ndarray, others: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs."""
    a, b = np.meshgrid(values, values if others is None else others)
    return a.ravel(), b.ravel()


def special(scalar_type: Any) -> np.ndarray:
    """Return floating-point numbers at the ends of the range, near 1, and a few others."""
    info = np.finfo(scalar_type)
    positive = [0, np.inf, 1, info.max, info.tiny, info.smallest_subnormal, 1 - info.epsneg, 1 + info.eps]
    positive += [0.5, 2, 3, 7.25, 100, 1e4]
    return np.array([*positive, *(-value for value in positive), np.nan], scalar_type)


@cache
def gradients_and_arguments(scalar_type: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return dy, normal numbers of any size and near 1; and x, numbers of any size, near 0, at corners, next to 1."""
    random = np.random.default_rng(SEED)
    info = np.finfo(scalar_type)
    low, high = np.log2(float(info.smallest_subnormal)), info.maxexp - 1e-3
    corners = np.array(CORNERS, scalar_type)
    magnitudes = np.concatenate(
        [
            2.0 ** np.linspace(low, high, count),
            2.0 ** random.uniform(-12, 12, count),
            random.uniform(0, 6, count),
            random.uniform(0, 40, count),
            random.uniform(0, 2.2 * np.log(float(info.max)), count),
            1 - 2.0 ** -np.arange(1, info.nmant + 2),
            1 + 2.0 ** -np.arange(1, info.nmant + 1),
            *(corners, np.nextafter(corners, scalar_type(0)), np.nextafter(corners, scalar_type(np.inf))),
        ]
    ).astype(scalar_type)
    x = np.tile(np.concatenate([magnitudes, -magnitudes]), 2)
    around_1 = random.standard_normal(x.size // 2)
    anywhere = 2.0 ** random.uniform(info.minexp, high, x.size // 2) * random.choice([-1, 1], x.size // 2)
    return np.concatenate([around_1, anywhere]).astype(scalar_type), x


@cache
def integers(data_type: DataType) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of 8-bit numbers; of wider ones the extremes, the small ones and a random choice."""
    scalar_type = data_type.dtype.type
    info = np.iinfo(scalar_type)
    if info.bits == 8:
        return crossed(np.arange(info.min, info.max + 1).astype(scalar_type))
    random = np.random.default_rng(SEED)
    middle = 2 ** (info.bits // 2)
    values = [info.min, info.min + 1, info.max, info.max - 1, info.max // 2, middle, middle - 1, 46341, *range(12)]
    values += [-value for value in values if -value >= info.min]
    values = [value for value in values if info.min <= value <= info.max]
    chosen = random.integers(info.min, info.max, 15, scalar_type, endpoint=True)
    return crossed(np.concatenate([np.array(values, scalar_type), chosen]))


def complex_numbers(parts: Any, others: Any, scalar_type: Any) -> np.ndarray:
    """Return the numbers with all pairs of parts, whose zeros keep their signs, and others."""
    return np.array([complex(real, imag) for real, imag in product(parts, parts)] + list(others), scalar_type)


def same(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Return where bits are equal, or both are NaN."""
    if got.dtype.kind == "c":
        return same(got.real.copy(), want.real.copy()) & same(got.imag.copy(), want.imag.copy())
    if got.dtype.kind != "f":
        return got == want
    bits = f"u{got.dtype.itemsize}"
    return (got.view(bits) == want.view(bits)) | (np.isnan(got) & np.isnan(want))


def check_same(op: UnaryOp | BinaryOp, got: np.ndarray, want: np.ndarray, *operands: np.ndarray) -> None:
    """Raise AssertionError if bits differ, unless both are NaN."""
    assert got.dtype == want.dtype
    wrong = np.flatnonzero(~same(got, want))
    assert wrong.size == 0, (
        f"{op.name} of {[operand[wrong[0]] for operand in operands]}: got {got[wrong[0]]!r}, want {want[wrong[0]]!r}; "
        f"{wrong.size} of {got.size} differ"
    )
