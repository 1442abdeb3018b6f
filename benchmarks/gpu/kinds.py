"""Kinds of cases: the rows of the tables, and their targets."""

from __future__ import annotations

from typing import Final

from ep.bench.case import (
    AddWork,
    BatchGatherWork,
    BinaryWork,
    Case,
    CastWork,
    ExpandWork,
    FillWork,
    GatherWork,
    JoinWork,
    MatmulWork,
    OneHotWork,
    PadWork,
    PermuteWork,
    ReduceWork,
    SegmentSumWork,
    SetBytesWork,
    SliceWork,
    SoftmaxWork,
    UnaryWork,
    WhereWork,
)
from ep.include.primitive import Memcpy

_WIDE: Final = 512
"""Bytes of a row from which a gather should reach the speed of a copy."""

AT_COPY_SPEED: Final = (
    "unary, memory-bound",
    "unary, transcendental",
    "binary, same shape",
    "binary, row",
    "expand",
    f"gather, rows from {_WIDE} B",
    "cast",
    "where, one shape",
    "add",
    "fill",
    "one-hot",
    "permute",
    "pad",
    "slice",
    "join",
    "memcpy",
    "memset",
    "softmax",
    "reduce",
    *(f"rows, {what}" for what in ("softmax", "maximum", "sum", "expand", "pad", "cut", "gather")),
)
"""The kinds that should reach nine tenths of the bandwidth of a copy."""


def kind_of(case: Case) -> str:
    """Return the kind of a case. Raises TypeError for work that has none."""
    if case.group == "rows":
        return f"rows, {case.name.partition(',')[0]}"
    match case.work:
        case UnaryWork() if case.primitive is Memcpy:
            return "memcpy"
        case UnaryWork():
            return f"unary, {case.group}"
        case MatmulWork():
            return "matmul"
        case SoftmaxWork():
            return "softmax"
        case ReduceWork():
            return "reduce"
        case SegmentSumWork():
            return "segment sum"
        case BinaryWork():
            layout = case.name.partition(", ")[2]
            if case.group == "transcendental":
                return "binary, transcendental"
            return f"binary, {layout}" if layout in ("same shape", "row") else "binary, other broadcasts"
        case ExpandWork():
            return "expand"
        case GatherWork(inner=inner):
            return f"gather, {_rows(case, inner)}"
        case BatchGatherWork(inner=inner):
            return f"batch gather, {_rows(case, inner)}"
        case CastWork(transposed=transposed):
            return "cast, transposed" if transposed else "cast"
        case WhereWork():
            return case.name if case.name == "where, one shape" else "where, broadcasts"
        case AddWork():
            return "add"
        case FillWork():
            return "fill"
        case OneHotWork():
            return "one-hot"
        case PermuteWork():
            return "permute"
        case PadWork():
            return "pad"
        case SliceWork():
            return "slice"
        case JoinWork():
            return "join"
        case SetBytesWork():
            return "memset"
        case _:
            raise TypeError(f"{type(case.work).__name__} has no kind (case {case.name!r})")


def _rows(case: Case, inner: int) -> str:
    """Return whether the rows of `inner` elements are wide."""
    return f"{'rows from' if inner * case.out_type.itemsize >= _WIDE else 'rows below'} {_WIDE} B"
