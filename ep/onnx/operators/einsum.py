"""Einsum: sums of products by the names of axes, as products of matrices."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ep import ops
from ep.onnx.operators.line import line


@line("Einsum", 12)
def einsum(*operands: Any, equation: str) -> Any:
    """Return the products of elements, summed over all axes whose names the result lacks, as `numpy.einsum` does."""
    terms, result = _named(equation, [len(one.shape) for one in operands])
    left, names = _diagonal(operands[0], terms[0])
    for k, (right, of_right) in enumerate(map(_diagonal, operands[1:], terms[1:])):
        left, names = _product(left, names, right, of_right, {*result}.union(*terms[k + 2 :]))
    if gone := tuple(k for k, name in enumerate(names) if name not in result):
        left, names = ops.sum(left, gone, dtype=left.dtype), [name for name in names if name in result]
    return ops.permute(left, [names.index(name) for name in result]) if names != result else ops.identity(left)


def _named(equation: str, ranks: Sequence[int]) -> tuple[list[list[str]], list[str]]:
    """Return the names of the axes of each operand, and those of the result; axes of "..." are numbers, the last is
    0."""
    given, arrow, result = equation.replace(" ", "").partition("->")
    parts = given.split(",")
    if len(parts) != len(ranks):
        raise ValueError(f"equation {equation!r} is for {len(parts)} operands; the node has {len(ranks)}")
    terms, most = [], 0
    for part, rank in zip(parts, ranks, strict=True):
        before, dots, behind = part.partition("...")
        extra = rank - len(before) - len(behind)
        if extra < 0 or (extra and not dots) or not (before + behind + "a").isalpha():
            raise ValueError(f"equation {equation!r} has {part!r} for an operand of {rank} axes")
        terms.append([*before, *(str(k) for k in reversed(range(extra))), *behind])
        most = max(most, extra)
    dotted = [str(k) for k in reversed(range(most))]
    if not arrow:
        counts = Counter(given)
        return terms, [*dotted, *sorted(name for name in counts if name.isalpha() and counts[name] == 1)]
    before, dots, behind = result.partition("...")
    names = [*before, *(dotted if dots else []), *behind]
    if len({*names}) != len(names) or not {*names} <= {name for term in terms for name in term}:
        raise ValueError(f"equation {equation!r} has a result whose axes are not those of operands, each once")
    return terms, names


def _diagonal(x: Any, names: list[str]) -> tuple[Any, list[str]]:
    """Return an operand with one axis for each name: of two axes with one name the diagonal."""
    for name in [name for name, count in Counter(names).items() for _ in range(count - 1)]:
        first, second = [k for k, one in enumerate(names) if one == name][:2]
        order = [first, second, *(k for k in range(len(names)) if k not in (first, second))]
        x, (rows, columns, *rest) = ops.permute(x, order), [x.shape[k] for k in order]
        if rows != columns:
            raise ValueError(f"axes {first} and {second} have {rows} and {columns} elements, and both are {name}")
        x = ops.slice(x.reshape((rows * columns, *rest)), (None, None, columns + 1))
        names = [names[k] for k in order[1:]]
    return x, names


def _product(x: Any, of_x: list[str], y: Any, of_y: list[str], later: set[str]) -> tuple[Any, list[str]]:
    """Return the product of two operands, summed over the axes that both have and nothing later needs."""
    sizes: dict[str, int] = {}
    for name, size in (*zip(of_x, x.shape, strict=True), *zip(of_y, y.shape, strict=True)):
        known = sizes.get(name, 1)
        if 1 not in (known, size) and known != size:
            raise ValueError(f"axes {name} have {known} and {size} elements")
        sizes[name] = size if known == 1 else known
    shared = [name for name in of_x if name in of_y]
    inner, batch = [one for one in shared if one not in later], [one for one in shared if one in later]
    rows, columns = [one for one in of_x if one not in shared], [one for one in of_y if one not in shared]

    def matrices(array: Any, names: list[str], *axes: list[str]) -> Any:
        wide = tuple(sizes[name] for name in names)
        array = array if wide == tuple(array.shape) else ops.expand(array, wide)
        order = [names.index(name) for part in axes for name in part]
        array = array if order == sorted(order) else ops.permute(array, order)
        return array.reshape(tuple(math.prod(sizes[name] for name in part) for part in axes))

    product = ops.matmul(matrices(x, of_x, batch, rows, inner), matrices(y, of_y, batch, inner, columns))
    names = [*batch, *rows, *columns]
    return product.reshape(tuple(sizes[name] for name in names)), names
