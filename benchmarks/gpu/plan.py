"""What the commands do, in order of worth: stages of named cases, as data. Imports nothing but the standard library."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import Final

GRACE: Final = 10.0  # seconds for pytest to end when it is interrupted


@dataclass(frozen=True)
class Stage:
    """Cases that one process after another works through.

    seconds: at most; a stage may also take what earlier ones left.
    does: "run" programs, "test" by pytest, or a method of `Bench`.
    cases: their names; those of launches are SET/NAME/DTYPE, with about `elements` elements in each result.
    has_torch: whether PyTorch computes the same. tool: of compute-sanitizer, which watches the process.
    variables: of the environment. patience: seconds without a result after which a process counts as hanging.
    """

    name: str
    seconds: float
    does: str
    cases: tuple[str, ...]
    elements: int = 2**26
    has_torch: bool = False
    tool: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    patience: float = 40.0


def _cases(*tables: str) -> tuple[str, ...]:
    """Return the names of the cases of tables: dtypes, then SET: NAME; NAME of each set, between lines and bars."""
    found = []
    for dtypes, *sets in (re.split(r"\n| \| ", table) for table in tables):
        for dtype, each in itertools.product(dtypes.split(), sets):
            group, _, names = each.partition(": ")
            found += [f"{group}/{name}/{dtype}" for name in names.split("; ")]
    return tuple(found)


_ODD: Final = 60_001  # elements: not whole packs, and a row of as many is computed in parts
_TWENTY: Final = _cases(
    """float32
unary: relu | binary: add, alternating axes | gather: rows of 64 B, middle axis | expand: last axis of 3
batch_gather: single elements, 16 batches | cast: cast a transpose to float32 | where: where of rows
add: add 8 operands | one_hot: one-hot of 100 | copy_nd: box | softmax: softmax, one row
reduce: sum, last axis; sum, first axis | segment_sum: sum of single elements""",
    """bfloat16
cast: cast to float32 | permute: matrix | softmax: softmax, odd columns; softmax, 50257 columns""",
    """int8
gather: rows of 7 B | pad: pad a matrix""",
)
_FIVE: Final = _cases(
    """float32 bfloat16
unary: relu; exp; gelu | binary: add, same shape; add, row | gather: rows of 64 B; rows of 1024 B
batch_gather: rows of 64 B, 16 batches | expand: leading axis; last axis""",
    """float32 bfloat16
unary: abs; log; sin; tanh; sigmoid; erf; silu
binary: add, scalar; add, column; add, channel bias; add, outer product; add, alternating axes; pow, same shape
gather: rows of 4 B; rows of 3072 B; rows of 64 B, sorted; rows of 64 B, skewed; rows of 64 B, middle axis; last axis
batch_gather: single elements, 16 batches
expand: middle axis; last axis of 3; middle axis, rows of 3; alternating axes; alternating axes, last kept""",
)
_REST: Final = _cases(
    """float32 bfloat16
rows: Softmax of 197 columns; Softmax of 50,257 columns | softmax: softmax, 1024 columns; softmax, gradient
reduce: sum, last axis; sum, first axis; sum, all | segment_sum: sum of words' gradients; sum into one segment
cast: cast to float16; cast a transpose to float32 | permute: matrix; heads""",
    """float32 bfloat16
rows: Softmax of 31 columns; LogSoftmaxBackward of 50,257 columns | softmax: softmax, 128 columns; log-softmax
reduce: sum, middle axis; maximum of short rows; mean, last axis
segment_sum: sum of sorted segments; sum of random segments
cast: cast to int8 | permute: channels first; channels last""",
)
_FORMS: Final = tuple(name for name in _FIVE if name.split("/")[1] in ("relu", "add, row", "last axis"))
_TESTS: Final = (
    *("ep/testing/device_layer", "ep/testing/primitive", "tests/ops/test_cuda_arrays.py"),
    *(f"tests/cuda/test_{name}.py" for name in ("device_layer", "buffers", "kernels", "long_rows", "rows_and_sums")),
    *(f"tests/cuda/test_{name}.py" for name in ("graphs", "known_launches", "operator_memory", "frameworks")),
)

COMMANDS: Final[dict[str, tuple[Stage, ...]]] = {
    "first": (
        Stage("machine", 20, "run", ("nvidia-smi", "python -m pip list"), patience=15),
        Stage("proof", 40, "launch", _TWENTY[:1], _ODD),
        Stage("twenty", 55, "launch", _TWENTY[1:], _ODD),
        Stage("doctor", 35, "run", ("python -m ep doctor --device cuda",)),
        Stage("copy", 15, "copy", ("1 GiB",)),
        Stage("host", 25, "host", _FIVE[:10] + _REST[:9], 1024, has_torch=True),
        Stage("graph", 10, "graph", ("unary/relu/float32",), 1),
        Stage("five", 140, "time", _FIVE, has_torch=True),
        Stage("tests", 135, "test", _TESTS),
    ),
    "second": (
        Stage("memcheck", 40, "launch", _TWENTY, _ODD, tool="memcheck"),
        Stage("racecheck", 40, "launch", _TWENTY, _ODD, tool="racecheck"),
        Stage("rest", 115, "time", _REST, has_torch=True),
        *(
            Stage(f"{grid}, {stores}", 10, "time", _FORMS, variables={"EP_CUDA_GRID": grid, "EP_CUDA_STORES": stores})
            for stores in ("cached", "streaming")
            for grid in ("resident", "pass")
        ),
    ),
}
"""The stages of each command; their seconds are the command's time: 475 and 235."""
