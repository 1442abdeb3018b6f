"""Plans: the walk of one combination of dims, worked out once and kept by the primitive for its later launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ep.common.compiling import compiling
from ep.common.primitive.broadcast import StridedWalk
from ep.common.primitive.strides import contiguous_strides
from ep.cpu.launch_state import GRAIN_BYTES
from ep.cpu.row_writer import RowWriter, row_writer
from ep.include.primitive.primitive import kMaxNumDims

# words of a plan; OPERAND_COUNT and IN_PLACE have one word for each of two operands, the strides eight
NUM_AXES: Final = 0
COUNT: Final = 1  # elements (units) of the walk
OPERAND_COUNT: Final = 2  # elements that each operand must have
IN_PLACE: Final = 4  # whether dst may be the very memory of the operand
GRAIN: Final = 6  # elements (units) up to which a launch stays on one thread; of Expand's plans alone, as the next two
WRITER: Final = 7  # the address of the task that writes rows
DIMS: Final = 8
STRIDES: Final = DIMS + kMaxNumDims
FILLS: Final = STRIDES + 2 * kMaxNumDims  # per operand: the plan that expands it, 0 where it is read in place
WALK: Final = FILLS + 2  # the address of the task that walks
STREAMED: Final = WALK + 1  # bytes of a unit where dst has no gaps, so that it can be streamed; else 0
NUM_WORDS: Final = STREAMED + 1

_WRITTEN: Final = 2  # what a byte that Expand writes costs, in bytes read and written by other launches


class Plan:
    """A walk over simplified axes, as words that compiled code reads."""

    def __init__(
        self,
        dims: Sequence[int],
        strides: tuple[Sequence[int], Sequence[int]],
        operand_counts: tuple[int, int],
        in_place: tuple[bool, bool],
        fills: tuple[Plan | None, Plan | None] = (None, None),
    ) -> None:
        """dims: the axes of the walk, at least one; strides: those of the two operands, in elements, Expand's in bytes.

        fills: for each operand, a plan of Expand's that writes its elements out in the order of the walk, where rows
            are so short that this is better than one call of the row kernel for each.
        """
        words = np.zeros(NUM_WORDS, np.int64)
        words[NUM_AXES] = len(dims)
        words[COUNT] = int(np.prod(dims, dtype=np.int64))
        words[OPERAND_COUNT : OPERAND_COUNT + 2] = operand_counts
        words[IN_PLACE : IN_PLACE + 2] = in_place
        words[DIMS : DIMS + len(dims)] = dims
        for operand, steps in enumerate(strides):
            first = STRIDES + kMaxNumDims * operand
            words[first : first + len(dims)] = steps
        for operand, fill in enumerate(fills):
            words[FILLS + operand] = fill.address if fill else 0
        self.in_place, self._fills = in_place, fills
        self.words = words
        self.address: int = words.ctypes.data


def expand_plan(walk: StridedWalk, unit: int, operand_counts: tuple[int, int] = (0, 0), in_place: bool = False) -> Plan:
    """A plan of Expand's over units of `unit` bytes. What writes its rows is compiled where that has not been done."""
    wanted = row_writer(walk, unit)
    if wanted not in _compiled:
        compiling(wanted, "cpu", lambda: _compile(wanted))
    writer, task = _compiled[wanted]
    src_strides, dst_strides = ([unit * step for step in steps] for steps in walk[1:])
    plan = Plan(walk.dims, (src_strides, dst_strides), operand_counts, (in_place, in_place))
    plan.words[[GRAIN, WRITER, WALK]] = max(GRAIN_BYTES // (_WRITTEN * unit), 1), writer, task
    if walk.dst_strides == contiguous_strides(walk.dims):
        plan.words[STREAMED] = unit
    return plan


_compiled: Final[dict[RowWriter, tuple[int, int]]] = {}
"""What there is so far: the addresses of the writer and of the task that walks."""


def _compile(wanted: RowWriter) -> None:
    from ep.cpu.kernels.expand import task
    from ep.cpu.kernels.expand_rows import writer

    _compiled[wanted] = writer(wanted), task()
