"""The cases of a run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from benchmarks.cases.odd import odd_cases
from benchmarks.cases.place import place_cases
from benchmarks.cases.product import model_cases
from benchmarks.cases.reduce import row_cases
from benchmarks.cases.sets import SETS
from benchmarks.options import MEMORY, ODD, PLACE, PRODUCTS, ROWS
from ep.bench.case import Case

SIZES: Final = (1, 2**6, 2**10, 2**12, 2**14, 2**16, 2**18, 2**20, 2**22, 2**24, 2**26)
MEMORY_SIZES: Final = (2**18, 2**20, 2**22, 2**24, 2**26)
ROWS_SIZE: Final = 2**20
_OF_ONE_SIZE: Final = {PRODUCTS: model_cases, ODD: odd_cases, PLACE: place_cases}
"""The groups whose cases have sizes of their own."""
_MEMORY_CASES: Final[Mapping[str, Sequence[str]]] = {
    "unary": ("identity", "relu"),
    "binary": (
        *("add, same shape", "add, scalar", "add, row", "add, column", "add, channel bias", "add, outer product"),
        "mul, same shape",
    ),
    "expand": ("leading axis", "last axis"),
}
"""The memory-bound cases of each set."""
QUICK_SIZES: Final = (1, 2**12, 2**16, 2**20, 2**22)
_SIZES_OF_ALL: Final = (2**20, 2**24)
"""The default sizes of cases that are not core ones."""


@dataclass(frozen=True)
class Selection:
    """The requested cases. `sizes`: None for the default ones. `pattern`: a part of a case's name."""

    sets: Sequence[str]
    dtypes: Sequence[np.dtype[Any]]
    sizes: Sequence[int] | None
    quick: bool
    pattern: str

    def __iter__(self) -> Iterator[tuple[str, int, Case]]:
        """Yield each case with the names of its set and its size."""
        wanted = re.compile(self.pattern)
        for name in self.sets:
            for dtype in self.dtypes:
                for size, case in self._cases(name, dtype):
                    if wanted.search(case.name):
                        yield name, size, case

    def _cases(self, name: str, dtype: np.dtype[Any]) -> Iterator[tuple[int, Case]]:
        if name in _OF_ONE_SIZE:
            yield from ((math.prod(case.out_dims), case) for case in _OF_ONE_SIZE[name](dtype))
            return
        if name == ROWS:
            yield from ((size, case) for size in self.sizes or (ROWS_SIZE,) for case in row_cases(size, dtype))
            return
        sizes = MEMORY_SIZES if name == MEMORY else QUICK_SIZES if self.quick else SIZES
        for size in self.sizes or sizes:
            if name == MEMORY:
                yield from ((size, case) for case in _memory_cases(size, dtype))
            else:
                yield from ((size, case) for case in SETS[name](size, dtype) if self._has(case, size))

    def _has(self, case: Case, size: int) -> bool:
        return case.core or (not self.quick and (self.sizes is not None or size in _SIZES_OF_ALL))


def _memory_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    for name, cases in _MEMORY_CASES.items():
        yield from (case for case in SETS[name](size, dtype) if case.name in cases)
