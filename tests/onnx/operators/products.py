"""Records of products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.onnx.operators.elementwise import wrapped
from tests.onnx.operators.record import Draw, Output, Record, Refused


def exact(x: Any) -> Any:
    """Return integers of Python instead of those of a type, which could overflow."""
    return x.astype(object) if x.dtype.kind in "iu" else x


def product(a: Any, b: Any, dtype: Any) -> Any:
    """Return the products of matrices; those of integers modulo the range of the type."""
    if a.dtype.kind not in "iu":
        return Output(np.matmul(a, b), magnitude=np.matmul(np.abs(a), np.abs(b)))
    found = np.matmul(exact(a), exact(b)) if 0 not in (*a.shape, *b.shape) else np.matmul(a, b)
    return wrapped(np.reshape(found, -1), dtype).reshape(np.shape(found))


def _size(d: Draw) -> int:
    return 0 if d.rarely("no elements") else int(d.rng.choice((1, 2, 3, 5, 7)))


def _matmul(d: Draw) -> Any:
    rows, inner, columns = (_size(d) for _ in range(3))
    batch = tuple(int(one) for one in d.rng.integers(1, 4, d.pick("batch", (0, 0, 1, 2))))
    a, b = (*batch, rows, inner), (*(d.narrowed(batch) if d.maybe("narrow") else batch), inner, columns)
    kind = d.pick("vectors", ("matrices", "matrices", "left", "right", "both"))
    a = (inner,) if kind in ("left", "both") else a
    b = (inner,) if kind in ("right", "both") else b
    if d.rarely("contradictory sizes"):
        a = (*a[:-1], inner + 1)
    if d.rarely("scalar"):
        a = ()
    return [d.array(a, wild=d.dtype.kind in "iu"), d.array(b, wild=d.dtype.kind in "iu")], {}


def _multiplied(d: Draw, a: Any, b: Any) -> Any:
    inner = b.shape[-2 if b.ndim > 1 else 0] if b.ndim else None
    if not a.ndim or not b.ndim or a.shape[-1] != inner:
        raise Refused("a b x axes shape columns rows")
    try:
        np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise Refused("a b shape broadcast") from None
    return product(a, b, d.dtype)


def _gemm(d: Draw) -> Any:
    rows, inner, columns = (_size(d) for _ in range(3))
    flags = {name: d.pick(name, (0, 1)) for name in ("transA", "transB")}
    a, b = (rows, inner), (inner, columns)
    if d.rarely("contradictory sizes"):
        b = (inner + 2, columns)
    c = d.pick("C", ((rows, columns), (columns,), (rows, 1), (1, columns), (), None))
    if d.since < 11 and c is None:
        c = (rows, columns)
    if d.rarely("contradictory C"):
        c = (rows + 2, columns)
    if d.rarely("C has more axes"):
        c = (2, rows, columns)
    sizes = [a[::-1] if flags["transA"] else a, b[::-1] if flags["transB"] else b]
    numbers = (1.0, 1.0, 2.0, 0.0, 3e9) if d.dtype.kind in "iu" else (1.0, 0.5, 2.0, 0.0, -1.5)
    given = {name: d.pick(name, numbers) for name in ("alpha", "beta")}
    inputs = [d.array(one, wild=False) for one in sizes]
    return [*inputs, None if c is None else d.array(c, wild=False)], {**flags, **given}


def _gemm_of(d: Draw, a: Any, b: Any, c: Any = None, *, alpha: float, beta: float, transA: int, transB: int) -> Any:
    a, b = a.T if transA else a, b.T if transB else b
    if a.shape[1] != b.shape[0]:
        raise Refused("a b A B columns rows shape")
    shape = (a.shape[0], b.shape[1])
    if c is not None:
        try:
            fits = np.broadcast_shapes(c.shape, shape) == shape
        except ValueError:
            fits = False
        if not fits:
            raise Refused("c C y")
    if a.dtype.kind in "iu":
        found = int(alpha) * np.matmul(exact(a), exact(b)) if a.size and b.size else np.zeros(shape, object)
        found = found if c is None else found + int(beta) * exact(c)
        return wrapped(np.reshape(found, -1), d.dtype).reshape(shape)
    c = np.zeros(()) if c is None else c
    size = abs(alpha) * (np.abs(a) @ np.abs(b)) + abs(beta) * np.abs(c)
    return Output(alpha * (a @ b) + beta * c, magnitude=size)


_EQUATIONS = (
    ("ij,jk->ik", 2), ("ij,jk", 2), ("bij,bjk->bik", 2), ("...ij,...jk->...ik", 2), ("ij->ji", 1), ("ii->i", 1),
    ("ij->", 1), ("i,j->ij", 2), ("ij,ij->", 2), ("ij,jk,kl->il", 3), ("bij,j->bi", 2), ("ii", 1), ("...->...", 1),
    ("i,i", 2), ("ij, jk -> ki", 2),
)  # fmt: skip


def _einsum(d: Draw) -> Any:
    equation, count = d.pick("equation", _EQUATIONS)
    sizes = {name: _size(d) if d.rarely("empty") else int(d.rng.choice((1, 2, 3, 5))) for name in "bijkl"}
    dots = tuple(int(one) for one in d.rng.integers(1, 4, d.pick("dots", (0, 1, 2))))
    terms = equation.replace(" ", "").split("->")[0].split(",")
    shapes = []
    for term in terms[:count]:
        before, has_dots, behind = term.partition("...")
        shapes.append((*(sizes[n] for n in before), *(dots if has_dots else ()), *(sizes[n] for n in behind)))
    if d.rarely("contradictory sizes") and shapes[0]:
        shapes[0] = (*shapes[0][:-1], shapes[0][-1] + 2)
    return [d.array(one, wild=False) for one in shapes], {"equation": equation}


def _einsum_of(d: Draw, *inputs: Any, equation: str) -> Any:
    try:
        found = np.einsum(equation, *map(exact, inputs)) if _is_integer(inputs) else np.einsum(equation, *inputs)
    except ValueError:
        raise Refused("axes equation operand elements") from None
    if _is_integer(inputs):
        return wrapped(np.reshape(found, -1), d.dtype).reshape(np.shape(found))
    return Output(found, magnitude=np.einsum(equation, *map(np.abs, inputs)))


def _is_integer(inputs: Sequence[Any]) -> bool:
    return inputs[0].dtype.kind in "iu"


_ALL = (
    Record("MatMul", _matmul, _multiplied, 8),
    Record("Gemm", _gemm, _gemm_of, 8),
    Record("Einsum", _einsum, _einsum_of, 8),
)
RECORDS = {one.name: one for one in _ALL}
