"""Attention and its gradients: those of NumPy in float64, whole and by blocks, alone, fused, and of a loss."""

import math

import numpy as np
import pytest

import ep
import ep.ops
from ep.ops import copy_to_host as host
from ep.ops import heads
from tests.fuse.placing import placed

INF = math.inf


def weights(products, k, mask, last):
    """Return the parts of keys and the logarithms of sums, of heads that each have their keys, in float64."""
    if mask is not None:
        products = np.where(mask, products, -INF) if mask.dtype == bool else products + mask
    if last is not None:
        places = np.arange(k.shape[-2]) <= np.arange(products.shape[-2])[:, None] + last
        products = np.where(places, products, -INF)
    most = products.max(-1, keepdims=True, initial=-INF)
    each = np.exp(products - np.where(most == -INF, 0, most))
    total = each.sum(-1, keepdims=True)
    safe = np.where(total == 0, 1, total)
    return each / safe, (np.log(safe) + np.where(most == -INF, 0, most))[..., 0]


def reference(q, k, v, dy, mask=None, last=None, scale=None, softcap=0):
    """Return the result, the logarithms, and the gradients by q, k, v and the mask."""
    q, k, v, dy = (one.astype(np.float64) for one in (q, k, v, dy))
    mask = mask if mask is None or mask.dtype == bool else mask.astype(np.float64)
    scale = 1 / math.sqrt(max(q.shape[-1], 1)) if scale is None else scale
    shared = q.shape[-3] // max(k.shape[-3], 1) if q.ndim > 2 else 1
    many = [one if q.ndim == 2 else np.repeat(one, shared, -3) for one in (k, v)]
    products = q @ many[0].swapaxes(-1, -2) * scale
    capped = np.tanh(products / softcap) * softcap if softcap else products
    parts, lse = weights(capped, many[0], mask, last)
    y = parts @ many[1]
    slopes = parts * (dy @ many[1].swapaxes(-1, -2) - (dy * y).sum(-1, keepdims=True))
    of_mask, slopes = slopes, slopes * (1 - (capped / softcap) ** 2 if softcap else 1)
    each = slopes.swapaxes(-1, -2) @ q * scale, parts.swapaxes(-1, -2) @ dy
    by_k, by_v = (one if q.ndim == 2 else one.reshape(*k.shape[:-2], shared, *one.shape[-2:]).sum(-3) for one in each)
    return y, lse, slopes @ many[0] * scale, by_k, by_v, of_mask


def close(found, wanted, dtype="float32", bound=3e-6):
    found = host(found)
    assert (found.dtype, found.shape) == (np.dtype(dtype), wanted.shape)
    np.testing.assert_allclose(found.astype(np.float64), wanted, 0, bound * np.max(np.abs(wanted), initial=1))


def draw(rng, q, k, width, dtype="float32"):
    """Return q, k, v and dy of shapes."""
    shapes = q, k, (*k[:-1], width), (*q[:-1], width)
    return [rng.standard_normal(shape).astype(np.dtype(dtype)) for shape in shapes]


SHAPES = {
    "heads": ((2, 3, 7, 5), (2, 3, 11, 5), 4),
    "heads that share keys": ((2, 6, 7, 5), (2, 2, 11, 5), 4),
    "one head of keys": ((3, 4, 5, 1), (3, 1, 6, 1), 2),
    "no batch": ((3, 7, 5), (3, 11, 5), 4),
    "matrices": ((7, 5), (11, 5), 4),
    "several batches": ((2, 3, 4, 5, 3), (2, 3, 2, 6, 3), 3),
    "one row and one key": ((2, 1, 1, 3), (2, 1, 1, 3), 1),
    "no rows": ((2, 3, 0, 5), (2, 3, 11, 5), 4),
    "no keys": ((2, 6, 7, 5), (2, 3, 0, 5), 4),
    "no samples": ((0, 3, 7, 5), (0, 3, 11, 5), 4),
    "no heads": ((2, 0, 7, 5), (2, 0, 11, 5), 4),
    "vectors of none": ((2, 3, 7, 0), (2, 3, 11, 0), 4),
    "values of none": ((2, 3, 7, 5), (2, 3, 11, 5), 0),
}


@pytest.fixture(params=["whole", "blocks"])
def blocks(request, monkeypatch):
    """Whether products are computed whole, or by blocks of few rows and heads."""
    if request.param == "blocks":
        monkeypatch.setattr(heads, "WHOLE", 0)
        monkeypatch.setattr(heads, "BLOCK", 4 * 11 * 2 * 3)
        monkeypatch.setattr(heads, "CAUSAL_ROWS", 3)
        monkeypatch.setattr(heads, "ON_A_DEVICE", 1)
    return request.param


def both(q, k, v, dy, *mask, **options):
    """Return the result, the logarithms and the gradients."""
    y, lse = ep.ops.attention(q, k, v, *mask, **options, return_lse=True)
    return [y, lse, *ep.ops.attention_grad(dy, q, k, v, y, lse, *mask, **options)]


def check(arrays, device, mask=None, **options):
    last = options.get("offset", 0) if options.get("is_causal") else None
    wanted = reference(*arrays, mask, last, options.get("scale"), options.get("softcap", 0))
    given = [placed(device, one) for one in (*arrays, *([] if mask is None else [mask]))]
    for one, expected in zip(ep.fuse(lambda *each: both(*each, **options))(*given), wanted, strict=False):
        close(one, expected, arrays[0].dtype, 1e-13 if arrays[0].dtype == np.float64 else 3e-6)
    return given, wanted


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("is_causal", [False, True])
def test_shapes(shape, is_causal, blocks, device, rng):
    arrays = draw(rng, *SHAPES[shape])
    given, wanted = check(arrays, device, is_causal=is_causal)
    if blocks == "whole":
        for one, expected in zip(both(*given, is_causal=is_causal), wanted, strict=False):
            close(one, expected)
        close(ep.ops.attention(*given[:3], is_causal=is_causal), wanted[0])


@pytest.mark.parametrize("kind", ["truths", "numbers"])
@pytest.mark.parametrize(
    "shape", [(), (11,), (7, 11), (7, 1), (2, 1, 1, 11), (2, 1, 7, 11), (1, 6, 7, 11), (6, 1, 1), (2, 6, 7, 11)]
)
def test_masks(shape, kind, blocks, device, rng):
    """Truths and numbers that broadcast along any axes; some queries have no key."""
    mask = np.asarray(rng.random(shape) < 0.6)
    if kind == "numbers":
        mask = np.where(mask, rng.standard_normal(shape), -INF).astype(np.float32)
    check(draw(rng, (2, 6, 7, 5), (2, 2, 11, 5), 4), device, mask, is_causal=shape == (7, 11))


@pytest.mark.parametrize("offset", [-9, -2, 0, 3, 20])
def test_offsets_and_scales(offset, blocks, device, rng):
    check(draw(rng, (2, 2, 7, 5), (2, 1, 11, 5), 4), device, is_causal=True, offset=offset, scale=-0.7)


def test_capped_products(blocks, device, rng):
    mask = rng.standard_normal((7, 11)).astype(np.float32)
    check(draw(rng, (2, 2, 7, 5), (2, 1, 11, 5), 4), device, mask, scale=1.5, softcap=2.0)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_types(dtype, device, rng):
    """16-bit numbers are computed in float32 and rounded once."""
    arrays = draw(rng, (2, 3, 7, 5), (2, 3, 11, 5), 4, dtype)
    wanted = reference(*arrays)
    bound, wide = {"float64": (1e-13, "float64"), "float16": (2e-3, "float32"), "bfloat16": (2e-2, "float32")}[dtype]
    mask = placed(device, np.ones(11, np.dtype(dtype)))  # the same number for all keys changes nothing
    found = both(*[placed(device, one) for one in arrays], mask)
    assert host(found[1]).dtype == np.dtype(wide)
    np.testing.assert_allclose(host(found[1]) - 1, wanted[1], 0, max(bound, 1e-6) if dtype == "float64" else 1e-5)
    for k in (0, 2, 3, 4):
        close(found[k], wanted[k], dtype, bound)
    many = placed(device, np.full((1, 1, 1, 64), 250, np.float16))  # of which the product is no float16
    assert host(ep.ops.attention(many, many, many)).tolist() == [[[[250.0] * 64]]]


def test_numbers_that_are_not_finite(device):
    """A NaN spreads to its row, and forbidden keys have no influence on results."""
    q, k, v = (np.ones((1, 3, 2), np.float32) for _ in range(3))
    q[0, 1], k[0, 2], v[0, 2] = math.nan, math.nan, 5
    mask = placed(device, np.array([True, True, False]))
    found = host(ep.ops.attention(*[placed(device, one) for one in (q, k, v)], mask))
    assert np.isnan(found[0, 1]).all()
    assert found[0, [0, 2]].tolist() == [[1, 1], [1, 1]]
    large = placed(device, np.full((1, 2, 1), 1e4, np.float32))
    y, lse = ep.ops.attention(large, large, large, return_lse=True)
    assert host(y).tolist() == [[[1e4]] * 2]
    np.testing.assert_allclose(host(lse), 1e8, 1e-6)


def test_gradients_of_a_loss(blocks, device, rng):
    """`ep.grad` agrees with the function of gradients, and has that of a mask of numbers."""
    arrays = draw(rng, (2, 4, 7, 5), (2, 2, 11, 5), 4)
    mask = rng.standard_normal((7, 11)).astype(np.float32)
    wanted = reference(*arrays, mask, 0)
    given = [placed(device, one) for one in (*arrays, mask)]
    by = (0, 1, 2, 4)
    loss = lambda q, k, v, dy, mask: ep.ops.sum(ep.ops.attention(q, k, v, mask, is_causal=True) * dy)  # noqa: E731
    found = ep.grad(loss, by=by)(*given)
    by_name = ep.ops.vjp("attention", [*given[:3], given[4]], {"is_causal": True}, None, given[3])
    for each in (found, by_name):
        for one, expected in zip(each, (*wanted[2:5], wanted[5].sum((0, 1))), strict=True):
            close(one, expected)
    truths = placed(device, mask > 0)
    assert ep.ops.vjp("attention", [*given[:3], truths], {}, None, given[3])[3] is None


def test_products_are_never_all_in_memory(device, monkeypatch):
    """Long attention is computed by blocks: no kernel writes as many products as there are."""
    monkeypatch.setattr(heads, "WHOLE", 2**10)
    monkeypatch.setattr(heads, "BLOCK", 2**10)
    monkeypatch.setattr(heads, "ON_A_DEVICE", 1)
    q = placed(device, np.zeros((2, 64, 4), np.float32))
    text = str(ep.fuse(lambda q: ep.ops.attention(q, q, q)).explain(q))
    assert max(int(line.rpartition("writes ")[2].split()[0]) for line in text.splitlines() if "writes" in line) < 8192
