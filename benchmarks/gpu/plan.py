"""The cases to measure, the most informative ones first: the time may not be enough for all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.gpu.options import FORMS, ROWS
from benchmarks.gpu.rows import row_cases
from benchmarks.gpu.scale import GPU, Scale
from benchmarks.options import DTYPES
from benchmarks.selection import Selection
from ep.bench.case import Case
from ep.include.data_type import as_data_type

SIZES: Final = (2**10, 2**14, 2**18, 2**20, 2**22, 2**24, 2**26, 2**28)
_FIRST: Final = (2**24, 2**28, 2**20, 2**26, 2**10, 2**22, 2**18, 2**14)
MAIN_DTYPES: Final = ("float32", "bfloat16")
"""The dtypes that are measured first, and those of the cases of rows and of the forms."""
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
    sets: Sequence[str],
    dtypes: Sequence[str] | None = None,
    sizes: Sequence[int] | None = None,
    pattern: str = "",
    scale: Scale = GPU,
    briefly: bool = False,
) -> Iterator[Planned]:
    """Yield every case once: all cases with the requested sizes, or the core cases with `SIZES`.

    Without requested sizes, the core cases of the main dtypes with `scale.elements` elements are first, and if
    `briefly`, the only ones besides the cases of rows, which have sizes of their own.
    """
    wanted, seen = dtypes or DTYPES, set()
    main = ((MAIN_DTYPES, (scale.elements,), False),) if sizes is None else ()
    others = () if briefly else (*_PASSES, (DTYPES, sizes or SIZES, sizes is not None))
    of_sets = [name for name in sets if name not in (ROWS, FORMS)]
    for number, (of_pass, in_pass, every) in enumerate((*main, *others)):
        if number == len(main) and ROWS in sets:
            yield from _rows(wanted, pattern, scale)
        for size in in_pass:
            if sizes is not None and size not in sizes:
                continue
            for dtype in of_pass:
                if dtype not in wanted:
                    continue
                selection = Selection(of_sets, [as_data_type(dtype).dtype], [size], not every, pattern)
                for name, _, case in selection:
                    key = (name, dtype, size, case.name)
                    if key not in seen:
                        seen.add(key)
                        yield Planned(name, dtype, size, case)
    if briefly and ROWS in sets:
        yield from _rows(wanted, pattern, scale)


def _rows(dtypes: Sequence[str], pattern: str, scale: Scale) -> Iterator[Planned]:
    """Yield the cases of rows, of the main dtypes."""
    for dtype in MAIN_DTYPES:
        if dtype in dtypes:
            for case in row_cases(scale, as_data_type(dtype).dtype):
                if re.search(pattern, case.name):
                    yield Planned(ROWS, dtype, scale.elements, case)
