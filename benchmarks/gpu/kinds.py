"""Kinds of cases: the rows of the tables, and what of the targets applies to them."""

from __future__ import annotations

from typing import Final

from ep.bench.case import BatchGatherWork, BinaryWork, Case, ExpandWork, GatherWork, UnaryWork

_WIDE: Final = 512
"""Bytes of a row from which on a gather is to reach the speed of a copy."""

AT_COPY_SPEED: Final = (
    "unary, memory-bound",
    "unary, transcendental",
    "binary, same shape",
    "binary, row",
    "expand",
    f"gather, rows from {_WIDE} B",
)
"""The kinds that are to reach nine tenths of the bandwidth of a copy."""


def kind_of(case: Case) -> str:
    """The kind of a case."""
    match case.work:
        case UnaryWork():
            return f"unary, {case.group}"
        case BinaryWork():
            layout = case.name.partition(", ")[2]
            if case.group == "transcendental":
                return "binary, transcendental"
            return f"binary, {layout}" if layout in ("same shape", "row") else "binary, other broadcasts"
        case ExpandWork():
            return "expand"
        case GatherWork(inner=inner):
            name = "gather"
        case BatchGatherWork(inner=inner):
            name = "batch gather"
    wide = inner * case.out_type.itemsize >= _WIDE
    return f"{name}, {'rows from' if wide else 'rows below'} {_WIDE} B"
