"""matmul."""

import numpy as np
import pytest

import ep.ops
from ep.include.primitive import BroadcastMatmulFactory
from ep.testing.keys import needs_one_of

pytestmark = needs_one_of(BroadcastMatmulFactory)

SHAPES = [
    ((3, 5), (5, 7)),
    ((5,), (5, 7)),
    ((3, 5), (5,)),
    ((5,), (5,)),
    ((2, 3, 5), (5,)),
    ((5,), (2, 5, 3)),
    ((2, 3, 5), (2, 5, 7)),
    ((2, 1, 3, 5), (4, 5, 7)),
    ((3, 5), (2, 5, 7)),
    ((0, 5), (5, 7)),
    ((3, 0), (0, 7)),
    ((0,), (0,)),
    ((2, 0, 3, 5), (5, 7)),
    ((2, 1, 2, 1, 1, 2, 1, 3, 5), (2, 1, 2, 1, 1, 2, 1, 5, 7)),
]


def data(shape, dtype, rng):
    values = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_shapes(operate, rng, shapes, dtype):
    x1, x2 = (data(shape, dtype, rng) for shape in shapes)
    result, expected = operate("matmul", x1, x2), np.matmul(x1, x2)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_narrow_floats(operate):
    ones = np.ones((2, 4096), np.float16)
    assert operate("matmul", ones, ones, transpose_x2=True).tolist() == [[4096, 4096]] * 2


def test_transposed(operate, rng):
    for dtype in (np.float32, np.complex64):
        x1, x2 = data((2, 5, 3), dtype, rng), data((7, 5), dtype, rng)
        result = operate("matmul", x1, x2, transpose_x1=True, transpose_x2=True)
        np.testing.assert_allclose(result, x1.mT.conj() @ x2.T.conj(), rtol=1e-4, atol=1e-5)


def test_views_are_not_copied(monkeypatch, rng):
    """Exchanged axes become transposes; other views are copied first."""
    x1, x2 = data((4, 5, 3), "f4", rng), data((7, 5), "f4", rng)
    seen = []
    as_buffer = ep.common.arrays.host.HostArrays.as_buffer
    monkeypatch.setattr(
        ep.common.arrays.host.HostArrays,
        "as_buffer",
        lambda self, value, name: seen.append(value) or as_buffer(self, value, name),
    )
    np.testing.assert_allclose(ep.ops.matmul(x1.mT, x2.T), x1.mT @ x2.T, rtol=1e-5, atol=1e-6)
    assert all(value.flags.c_contiguous for value in seen[:2])
    for views in ((x1[:, ::-1].mT, x2.T), (x1[::2].mT, x2.T), (x1.mT, x2[::-1].T)):
        np.testing.assert_allclose(ep.ops.matmul(*views), np.matmul(*views), rtol=1e-5, atol=1e-6)
    z = data((3, 5), "c8", rng)
    np.testing.assert_allclose(ep.ops.matmul(z.T, z), z.T @ z, rtol=1e-5, atol=1e-6)


def test_out(rng):
    x1, x2, out = data((3, 5), "f4", rng), data((5, 7), "f4", rng), np.full((3, 7), np.nan, "f4")
    assert ep.ops.matmul(x1, x2, out=out) is out
    np.testing.assert_allclose(out, x1 @ x2, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="out has shape"):
        ep.ops.matmul(x1, x2, out=out[:2])
    with pytest.raises(ValueError, match=r"out (overlaps|is the memory of) x1"):
        ep.ops.matmul(out, np.eye(7, dtype="f4"), out=out)


def test_refusals(rng):
    x = data((3, 5), "f4", rng)
    with pytest.raises(ValueError, match=r"x1 of shape \(3, 5\) has 5 columns, and x2 of shape \(3, 5\) has 3 rows"):
        ep.ops.matmul(x, x)
    with pytest.raises(ValueError, match="x2 has no axes"):
        ep.ops.matmul(x, np.float32(2))
    with pytest.raises(TypeError, match="x1 has dtype float32, x2 has float64"):
        ep.ops.matmul(x, x.T.astype("f8"))
    with pytest.raises(ValueError, match=r"x1.shape\[:-2\] \(2,\), x2.shape\[:-2\] \(3,\)"):
        ep.ops.matmul(np.ones((2, 3, 5), "f4"), np.ones((3, 5, 7), "f4"))
    with pytest.raises(ValueError, match="transpose_x1 is True, and x1 of shape"):
        ep.ops.matmul(x[0], x.T, transpose_x1=True)
    with pytest.raises(TypeError, match="transpose_x2 must be True or False, not 'T'"):
        ep.ops.matmul(x, x, transpose_x2="T")
    with pytest.raises(LookupError, match="x1 and x2 have dtype bool; matmul takes"):
        ep.ops.matmul(np.ones((2, 2), "?"), np.ones((2, 2), "?"))
