"""Products of bfloat16 by pairs: they have the bits of products in float32, rounded, whatever the numbers are."""

import numpy as np
import pytest

from ep import DataType, DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import MatmulFactory
from ep.testing.references.matmul import TRANSPOSES, T, check, matrices, product, stored

BFLOAT16 = DataType.kBFloat16.dtype
SIZES = [
    (5, 3, 7),
    (9, 33, 47),
    (65, 49, 7),
    (97, 1700, 259),
    (130, 150, 384),
    (13, 50, 383),
    (601, 701, 1001),  # several pieces of rows and of sums, the last one odd
    (16, 387, 1536),
    (8, 48, 1),
    (3, 200, 70),  # few rows
]
RANGES = {
    "ordinary": (1.0, 1.0, 1.0),
    "a subnormal element": (1.0, 1e30, 1e-39),
    "subnormal products": (1e-20, 2e-19, 1e-20),
    "least sums": (2.0**-54, 2.0**-54, 0.0),  # some sums of exponents are just large enough
    "infinity": (1.0, 1e35, np.inf),
}


@pytest.mark.parametrize("scales", RANGES.values(), ids=RANGES)
def test_the_bits_of_float32(rng, scales):
    stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
    for transposes in TRANSPOSES:
        in_pairs, in_float32 = (
            RequirePrimitive(MatmulFactory, DeviceType.kCPU, one, *transposes) for one in ("bfloat16", "float32")
        )
        for m, n, k in SIZES:
            if transposes[1] is T and m <= 16:  # products of as few rows in float32 add up in another order
                m += 16
            a, b = (
                (rng.normal(size=stored(shape, one)) * scale).astype(BFLOAT16)
                for shape, one, scale in zip(((m, k), (k, n)), transposes, scales, strict=False)
            )
            a[rng.random(a.shape) < 0.25] = 0
            a.ravel()[rng.integers(a.size)] = scales[2]
            c, wide = np.zeros((m, n), BFLOAT16), np.zeros((m, n), np.float32)
            in_pairs.Launch(stream, m, n, k, 1, a, b, 0, c)
            in_float32.Launch(stream, m, n, k, 1, a.astype(np.float32), b.astype(np.float32), 0, wide)
            np.testing.assert_array_equal(c.astype(np.float32), wide.astype(BFLOAT16).astype(np.float32))


def test_sums_of_odd_pieces_and_parts(rng):
    """Sums of products in pieces of another length than in float32, and in parts that begin at odd places."""
    stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
    for transposes in TRANSPOSES:
        primitive = RequirePrimitive(MatmulFactory, DeviceType.kCPU, "bfloat16", *transposes)
        for m, n, k in ((70, 101, 1153), (12, 9, 50_001)):
            shapes = (stored(shape, one) for shape, one in zip(((m, k), (k, n)), transposes, strict=True))
            a, b = (matrices(rng, DataType.kBFloat16, *shape) for shape in shapes)
            c = matrices(rng, DataType.kBFloat16, m, n)
            result = c.copy()
            primitive.Launch(stream, m, n, k, -0.5, a, b, 0.25, result)
            check(result, *product(-0.5, a, b, 0.25, c, transposes), k)


def test_a_subnormal_element_at_any_place_is_not_taken_for_0():
    stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
    m, n, k = 16, 13, 23
    for transposes in TRANSPOSES:
        primitive = RequirePrimitive(MatmulFactory, DeviceType.kCPU, "bfloat16", *transposes)
        shapes = [stored(shape, one) for shape, one in zip(((m, k), (k, n)), transposes, strict=True)]
        for changed in (0, 1):
            a, b = operands = [np.full(shape, 1e30, BFLOAT16) for shape in shapes]
            operands[changed][:] = 0
            in_order = [each.T if one is T else each for each, one in zip(operands, transposes, strict=True)]
            for place in range(operands[changed].size):
                operands[changed].ravel()[place] = 1e-39
                c, (x, y) = np.ones((m, n), BFLOAT16), (each.astype(np.float32) for each in in_order)
                primitive.Launch(stream, m, n, k, 1, a, b, 0, c)
                assert c.any(), (transposes, changed, place)
                np.testing.assert_array_equal(c.astype(np.float32), (x @ y).astype(BFLOAT16).astype(np.float32))
                operands[changed].ravel()[place] = 0
