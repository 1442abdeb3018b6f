"""Writes the table of docs/placement.md: the cost model's choices for many ranks; `python -m tools.placement_table`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

import ep.ops  # noqa: F401, which declares the operators
from ep.ops.declare.operator import operator_named
from ep.sbp import Choice, choose, parse_many, route, sent
from tools.generated import updated, write

_FILE: Final = "docs/placement.md"
_MESHES: Final = ((8, (2, 4)), (64, (8, 8)), (1024, (32, 32)))
_TABLE, _TOKENS = (50_257, 768), (1024,)
_ROWS, _HIDDEN, _LAYERS = 32 * 64, 384, 6


def files() -> dict[str, str]:
    """Return the contents of the file with the table."""
    headings = (
        "ranks",
        "rows on every rank",
        "the table on every rank",
        "on a mesh, a part of the rows each",
        "the encoder",
    )
    lines = [f"| {' | '.join(headings)} |", "|---" * len(headings) + "|"]
    for ranks, mesh in _MESHES:
        on_all = _gather((ranks,), "S(0)", "B", "B")
        on_mesh = _gather(mesh, "S(0),B", "B,S(0)", "B,S(0)")
        cells = (
            f"{_each(on_all.bytes, ranks)} by `{on_all}`",
            _each(_route("S(0)", "B", _TABLE, (ranks,)), ranks),
            f"{_each(on_mesh.bytes, ranks)} on {' x '.join(map(str, mesh))}",
            _each(2 * _LAYERS * _route("P", "B", (_ROWS, _HIDDEN), (ranks,)), ranks),
        )
        lines.append(f"| {ranks:,} | {' | '.join(cells)} |")
    return updated((_FILE, "many ranks", "\n".join(lines)))


def _each(bytes_of_all: int, ranks: int) -> str:
    return f"{bytes_of_all / ranks / 1e6:.2f} MB"


def _gather(mesh: Sequence[int], params: str, indices: str, out: str) -> Choice:
    """Return the choice of the cost model for a gather."""
    operator = operator_named("gather")
    inputs: list[Any] = [np.broadcast_to(np.float32(0), _TABLE), np.broadcast_to(np.int64(0), _TOKENS)]
    problem = operator.problem(inputs, operator.resolve(*inputs), 1)
    return choose(operator, problem, mesh, [parse_many(params), parse_many(indices)], parse_many(out))


def _route(source: str, target: str, shape: tuple[int, ...], mesh: Sequence[int]) -> int:
    return sent(route(parse_many(source), parse_many(target), shape, 4, mesh))


if __name__ == "__main__":
    write(files())
