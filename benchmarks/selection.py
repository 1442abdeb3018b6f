"""Which cases a run has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ep.bench.all_cases import SETS
from ep.bench.case import Case

SIZES: Final = (1, 2**6, 2**10, 2**12, 2**14, 2**16, 2**18, 2**20, 2**22, 2**24, 2**26)
QUICK_SIZES: Final = (1, 2**12, 2**16, 2**20, 2**22)
_SIZES_OF_ALL: Final = (2**20, 2**24)
"""Where no sizes are asked for, the cases that are no core ones have these."""


@dataclass(frozen=True)
class Selection:
    """What was asked for. `sizes` None: the default ones. `pattern`: part of a case's name."""

    sets: Sequence[str]
    dtypes: Sequence[np.dtype[Any]]
    sizes: Sequence[int] | None
    quick: bool
    pattern: str

    def __iter__(self) -> Iterator[tuple[str, int, Case]]:
        """Each case with the names of its set and its size."""
        wanted = re.compile(self.pattern)
        for name in self.sets:
            for dtype in self.dtypes:
                for size in self.sizes or (QUICK_SIZES if self.quick else SIZES):
                    for case in SETS[name](size, dtype):
                        if wanted.search(case.name) and self._has(case, size):
                            yield name, size, case

    def _has(self, case: Case, size: int) -> bool:
        return case.core or (not self.quick and (self.sizes is not None or size in _SIZES_OF_ALL))
