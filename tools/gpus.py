"""Figures of GPUs of compute capability 9.0, and the pipes of a multiprocessor that PTX instructions occupy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

CAPABILITY: Final = (9, 0)
REGISTERS, SHARED_BYTES, THREADS, BLOCKS, BLOCK_SHARED_BYTES = 65536, 227 * 1024, 2048, 32, 1024
"""Of a multiprocessor; the last: the shared memory that a block takes in addition to its own."""

LATENCY: Final = 800e-9
"""Seconds from a load to its data on a busy device."""


@dataclass(frozen=True)
class Gpu:
    """A GPU. copy: the bytes per second that a copy reads and writes."""

    multiprocessors: int
    hertz: float
    copy: float

    @property
    def wanted(self) -> float:
        """Nine tenths of the bandwidth of a copy."""
        return 0.9 * self.copy

    def seconds(self, pipe: str) -> float:
        """Return the seconds of one instruction of one thread on a pipe that all multiprocessors keep busy."""
        return 1 / (self.multiprocessors * self.hertz * LANES[pipe])


GPUS: Final = {
    "h100": Gpu(132, 1.755e9, 3.0e12),
    "h200": Gpu(132, 1.98e9, 4.3e12),
}
"""SXM modules, with clocks under load."""

ISSUE: Final = "issue"
MUFU: Final = "mufu"
LANES: Final = {ISSUE: 4 * 32, "fp64": 64, MUFU: 16, "f2f": 16}
"""The threads for which a multiprocessor executes an instruction in a clock, by pipe; every instruction is issued.

They are those of the table of arithmetic throughput in NVIDIA's CUDA programming guide: fp64 has arithmetic in 64 bits,
mufu functions that are approximated, f2f conversions from and to 64 bits.
"""

_MUFU: Final = re.compile(r"(ex2|lg2|sin|cos|tanh|rcp|rsqrt|sqrt|div)(\.\w+)*\.(f32|f16|f16x2|bf16|bf16x2)")
_FP64: Final = re.compile(r"(add|sub|mul|fma|mad|min|max|setp|set|abs|neg|copysign|testp)(\.\w+)*\.f64")
_F2F: Final = re.compile(r"cvt(\.\w+)*?\.(f64|[su]64)\.[a-z]\w+|cvt(\.\w+)*?\.[a-z]\w+\.(f64|[su]64)")
_WHOLE: Final = re.compile(r"cvt\.[su](8|16|32|64)\.[su](8|16|32|64)")


def pipe_of(instruction: str) -> str | None:
    """Return the pipe, besides that of the issue, which a PTX instruction such as `ex2.approx.ftz.f32` occupies.

    Conversions between integers are moves or shifts.
    """
    if _MUFU.fullmatch(instruction):
        return MUFU
    if _FP64.fullmatch(instruction):
        return "fp64"
    return "f2f" if _F2F.fullmatch(instruction) and not _WHOLE.fullmatch(instruction) else None
