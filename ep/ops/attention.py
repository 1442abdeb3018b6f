"""Attention: mixtures of values, by softmaxes of the products of queries and keys; and its gradients."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ep.common.arrays.checks import as_scalar
from ep.common.checks import as_integer, as_truth, present
from ep.include.arrays import ArrayLike
from ep.include.data_type import as_data_type
from ep.include.number_kind import BOOL, FLOATS
from ep.include.shown import in_short
from ep.ops.composition import composition
from ep.ops.declare.function import FUNCTIONS
from ep.ops.gradients import OF_FUNCTIONS
from ep.ops.heads import AttentionBlock, Heads
from ep.ops.joined import joined, note_gradient
from ep.ops.operands import check_real
from ep.ops.shapes import check_broadcasts, check_shape
from ep.ops.terms import in_type, summed_to, viewed, zeros_like

_LEAST: Final = {4: -87.0, 8: -708.0}
"""By the bytes of a type, an exponent below which its exponential is taken for 0: it would be no normal number."""


@composition(FLOATS, alike=False, also={"mask": BOOL})
@joined
def attention(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    is_causal: bool = False,
    offset: int = 0,
    scale: float | None = None,
    softcap: float = 0.0,
    return_lse: bool = False,
) -> Any:
    """Return `softmax(q @ k.T * scale) @ v`, as `torch.nn.functional.scaled_dot_product_attention`.

    q: queries, shape (..., H, rows, size), of a floating type.
    k, v: keys and values of the dtype of q, shapes (..., G, keys, size) and (..., G, keys, width). H is a multiple of
        G: H / G heads of q share a head of k and v.
    mask: bool, False where a query may not have a key, or numbers that are added to the products; it broadcasts to
        (..., H, rows, keys). is_causal: whether query i may have the keys up to i + offset alone.
    scale: a number, 1 / sqrt(size) by default. softcap: c, where `c * tanh(products / c)` replaces the products before
        a mask is used; 0 for no cap.
    return_lse: whether to return the logarithms of the sums of exponentials as well, shape (..., H, rows).

    A query that may have no key has the result 0, and the logarithm 0, as in PyTorch. 16-bit numbers are computed in
    float32, which is also the dtype of the logarithms. Long arrays are computed by blocks of some heads and rows, so
    the products are never all in memory. Raises TypeError if the dtypes of q, k and v differ, ValueError for shapes
    that do not fit.
    """
    options = {"is_causal": is_causal, "offset": offset, "scale": scale, "softcap": softcap}
    heads = _heads(q, k, v, mask, **options)
    gives_lse, wide = as_truth(return_lse, "return_lse"), heads.wide
    if heads.keys:
        blocks = [one.results for one in heads.by_blocks([q], _mixed)]
        y, lse = (_rows(heads, [each[one] for each in blocks]) for one in range(2))
    else:  # products of no numbers are 0
        seen = viewed(q, (*heads.k.shape[:2], heads.shared * heads.rows, q.shape[-1]))
        products = FUNCTIONS["matmul"](in_type(seen, wide), in_type(heads.k, wide), False, True)
        y = FUNCTIONS["matmul"](products, in_type(heads.v, wide))
        lse = FUNCTIONS["sum"](products, -1, wide)
    y = viewed(in_type(y, q.dtype), (*q.shape[:-1], v.shape[-1]))
    lse = viewed(lse, q.shape[:-1])
    given = [one for one in (q, k, v, mask) if one is not None]
    note_gradient(y, given, lambda dy: _gradients(dy, q, k, v, y, lse, mask, options)[: len(given)])
    return (y, lse) if gives_lse else y


@composition(FLOATS, alike=False, also={"mask": BOOL})
@joined
def attention_grad(
    dy: ArrayLike,
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    y: ArrayLike,
    lse: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    is_causal: bool = False,
    offset: int = 0,
    scale: float | None = None,
    softcap: float = 0.0,
    by_mask: bool = False,
) -> list[Any]:
    """Return the gradients of `attention` by q, k and v: each has the shape and dtype of its operand.

    dy: the gradient by the result. y, lse: the result and the logarithms that `attention` returned.
    q, k, v, mask, is_causal, offset, scale, softcap: as given to `attention`.
    by_mask: whether the gradient by a mask of numbers is returned as well; it is None for truths, and for no mask. All
        products are in memory for it.

    The products are computed again, by the same blocks. Sums over blocks have the same order in every run.
    """
    options = {"is_causal": is_causal, "offset": offset, "scale": scale, "softcap": softcap}
    return _gradients(dy, q, k, v, y, lse, mask, options)[: 3 + as_truth(by_mask, "by_mask")]


def _slopes_of(inputs: Sequence[Any], attributes: Mapping[str, Any], dy: Any) -> list[Any]:
    """Return the gradients by the inputs of attention, which is computed again."""
    y, lse = FUNCTIONS["attention"](*inputs, **attributes, return_lse=True)
    q, k, v, *mask = inputs
    found: list[Any] = FUNCTIONS["attention_grad"](dy, q, k, v, y, lse, *mask, **attributes, by_mask=True)
    return found[: len(inputs)]


OF_FUNCTIONS["attention"] = _slopes_of


def _gradients(dy: Any, q: Any, k: Any, v: Any, y: Any, lse: Any, mask: Any, options: Mapping[str, Any]) -> list[Any]:
    """Return the gradients by q, k, v and the mask; the last one is None for a mask of truths, and for none."""
    heads = _heads(q, k, v, mask, **options)
    of_y, of_rows = (*q.shape[:-1], v.shape[-1]), tuple(q.shape[:-1])
    for name, one, shape in (("dy", dy, of_y), ("y", y, of_y), ("lse", lse, of_rows)):
        check_shape(name, one, shape)
    if not heads.keys:
        return [*map(zeros_like, (q, k, v)), None if mask is None else zeros_like(mask)]
    wide = heads.wide
    along = FUNCTIONS["mul"](in_type(dy, wide), in_type(y, wide))
    along = FUNCTIONS["sum"](along, -1, wide, keepdims=True)
    by_row = [q, dy, in_type(viewed(lse, (*of_rows, 1)), wide), along]
    rows = [*heads.by_blocks(by_row, _slopes)]
    by_q = _rows(heads, [one.results[0] for one in rows])
    found = [viewed(in_type(by_q, q.dtype), q.shape)]
    for number, of in ((1, k), (2, v)):
        total = None
        for one in rows:
            part = one.results[number]
            if one.keys < heads.keys:
                part = FUNCTIONS["pad"](part, [(0, 0), (0, 0), (0, heads.keys - one.keys), (0, 0)])
            total = part if total is None else FUNCTIONS["add"](total, part)
        found.append(viewed(in_type(total, of.dtype), of.shape))
    if mask is None or as_data_type(mask.dtype) in BOOL:
        return [*found, None]
    (whole,) = heads.by_blocks(by_row, _sum_slopes, is_whole=True)
    by_mask = viewed(whole.results[0], (*of_rows, heads.keys))
    return [*found, in_type(summed_to(by_mask, mask), mask.dtype)]


def _mixed(block: AttentionBlock) -> list[Any]:
    """Return the mixtures of a block, and the logarithms of the sums of exponentials."""
    where, add = FUNCTIONS["where"], FUNCTIONS["add"]
    products = block.products()
    most = FUNCTIONS["max"](products, -1, keepdims=True)
    most = where(FUNCTIONS["equal"](most, -math.inf), 0.0, most)
    each = _exponentials(FUNCTIONS["sub"](products, most))
    total = FUNCTIONS["sum"](each, -1, block.wide, keepdims=True)
    total = where(FUNCTIONS["equal"](total, 0.0), 1.0, total)
    parts = FUNCTIONS["mul"](each, FUNCTIONS["reciprocal"](total))
    mixed = block.product(block.together(parts), block.v, False, False)
    return [mixed, block.together(add(FUNCTIONS["log"](total), most))]


def _slopes(block: AttentionBlock) -> list[Any]:
    """Return the gradients of a block by q, k and v."""
    parts, by_sums = _parts_and_slopes(block)
    if block.softcap:
        tangents = block.tangents()
        by_sums = FUNCTIONS["mul"](by_sums, FUNCTIONS["sub"](1.0, FUNCTIONS["mul"](tangents, tangents)))
    by_products = block.together(FUNCTIONS["mul"](by_sums, block.scale))
    by_q = block.product(by_products, block.k, False, False)
    by_k = block.product(by_products, block.by_row[0], True, False)
    return [by_q, by_k, block.product(block.together(parts), block.by_row[1], True, False)]


def _sum_slopes(block: AttentionBlock) -> list[Any]:
    """Return the gradients of a block by the sums of products and a mask."""
    return [_parts_and_slopes(block)[1]]


def _parts_and_slopes(block: AttentionBlock) -> tuple[Any, Any]:
    """Return the parts of keys in mixtures, and the gradients by the numbers of which these are the softmax."""
    _, dy, lse, along = block.by_row
    sub = FUNCTIONS["sub"]
    parts = _exponentials(sub(block.products(), block.apart(lse)))
    by_parts = block.apart(block.product(dy, block.v, False, True))
    return parts, FUNCTIONS["mul"](parts, sub(by_parts, block.apart(along)))


def _exponentials(x: Any) -> Any:
    """Return exponentials of numbers up to 0. Those of -inf, and others that are no normal numbers, are 0."""
    least = _LEAST[x.dtype.itemsize]
    ordinary = FUNCTIONS["exp"](FUNCTIONS["maximum"](x, least))
    return FUNCTIONS["where"](FUNCTIONS["less_than"](x, least), 0.0, ordinary)


def _rows(heads: Heads, blocks: list[Any]) -> Any:
    """Return the rows of all blocks, with the heads that share keys after each other."""
    apart = [viewed(one, (*one.shape[:2], heads.shared, one.shape[2] // heads.shared, one.shape[3])) for one in blocks]
    return apart[0] if len(apart) == 1 else FUNCTIONS["concat"](apart, 3)


def _heads(
    q: Any, k: Any, v: Any, mask: Any, *, is_causal: Any, offset: Any, scale: Any, softcap: Any
) -> Heads:  # fmt: skip
    """Return the heads; raises the errors of wrong arguments."""
    for name, one in (("k", k), ("v", v)):
        if one.dtype != q.dtype:
            raise TypeError(f"{name} has dtype {one.dtype}, q has {q.dtype}; convert one of them")
    for name, one in (("q", q), ("k", k), ("v", v)):
        if len(one.shape) < 2:
            raise ValueError(f"{name} has shape {tuple(one.shape)}; it must have two axes at least")
    *before, rows, size = q.shape
    keys = k.shape[-2]
    heads, groups = (tuple(one.shape[:-2])[-1:] or (1,) for one in (q, k))
    for name, one, beside, last in (("k", k, "q", size), ("v", v, "k", v.shape[-1])):
        fitting, other = (*before[:-1], *k.shape[-3:-2], keys, last), q if one is k else k
        if tuple(one.shape) != fitting:
            shapes = f"{name} has shape {tuple(one.shape)}; for {beside} of shape {tuple(other.shape)}"
            raise ValueError(f"{shapes} it must have {fitting}")
    if len(k.shape) != len(q.shape) or (heads != groups and (0 in heads + groups or heads[0] % groups[0])):
        raise ValueError(
            f"k has shape {tuple(k.shape)}, q has {tuple(q.shape)}; the heads of q must be a multiple of those of k"
        )
    check_broadcasts("mask", mask, (*before, rows, keys))
    factor = 1 / math.sqrt(max(size, 1)) if scale is None else _real(scale, "scale")
    last = as_integer(offset, "offset")
    given = last if as_truth(is_causal, "is_causal") else None
    return Heads(q, k, v, mask, given, factor, _real(softcap, "softcap"))


def _real(value: Any, name: str) -> float:
    """Return a real number; TypeError for anything else, ValueError for one that float64 does not hold."""
    value = as_scalar(present(value))
    check_real(value, name)
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} is {in_short(value)}, which float64 does not hold") from None
