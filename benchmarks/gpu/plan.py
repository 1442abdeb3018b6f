"""The cases to measure, the most informative ones first: the time may not be enough for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.options import DTYPES
from benchmarks.selection import Selection
from ep.bench.case import Case
from ep.include.data_type import as_data_type

SIZES: Final = (2**10, 2**14, 2**18, 2**20, 2**22, 2**24, 2**26, 2**28)
_FIRST: Final = (2**24, 2**28, 2**20, 2**26, 2**10, 2**22, 2**18, 2**14)
_HALVES: Final = ("float16", "bfloat16")
_OTHERS: Final = ("float64", "int8", "int32", "int64")
_PASSES: Final[tuple[tuple[tuple[str, ...], tuple[int, ...], bool], ...]] = (
    (("float32",), _FIRST, False),
    (_HALVES, (2**24, 2**28, 2**20), False),
    (("float32",), (2**24,), True),
    (_OTHERS, (2**24,), False),
    (DTYPES, _FIRST, False),
)
"""Dtypes, sizes, and whether all cases or the core ones."""


@dataclass(frozen=True)
class Planned:
    """A case, and the options that selected it."""

    set: str
    dtype: str
    size: int
    case: Case


def planned(
    sets: Sequence[str], dtypes: Sequence[str] | None = None, sizes: Sequence[int] | None = None, pattern: str = ""
) -> Iterator[Planned]:
    """Yield every case once: all cases with the requested sizes, or the core cases with `SIZES`."""
    wanted, seen = dtypes or DTYPES, set()
    for of_pass, in_pass, every in (*_PASSES, (DTYPES, sizes or SIZES, sizes is not None)):
        for size in in_pass:
            if sizes is not None and size not in sizes:
                continue
            for dtype in of_pass:
                if dtype not in wanted:
                    continue
                selection = Selection(sets, [as_data_type(dtype).dtype], [size], not every, pattern)
                for name, _, case in selection:
                    key = (name, dtype, size, case.name)
                    if key not in seen:
                        seen.add(key)
                        yield Planned(name, dtype, size, case)
