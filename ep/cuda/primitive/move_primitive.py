"""The base of the primitives on CUDA that copy elements unchanged, by walks derived from dims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ep.common.primitive.movement import widest_unit
from ep.cuda.device.stream import CudaStream
from ep.cuda.primitive.planned_primitive import PlannedPrimitive


class Shape:
    """The plan for the dims of a launch. given: the dims, checked. counts: the elements that each buffer must have.
    make: (itemsize, alignment of src, alignment of dst) -> the plan of a launch that has elements; alignments are the
        widest units that addresses are multiples of.
    in_place: whether src may be the memory of dst.
    plans: the plans made so far.
    """

    __slots__ = ("counts", "given", "in_place", "make", "plans")

    def __init__(
        self, given: Any, counts: Sequence[int], make: Callable[[int, int, int], Any], in_place: bool = True
    ) -> None:
        self.given, self.counts, self.make, self.in_place = given, counts, make, in_place
        self.plans: dict[tuple[int, int, int], Any] = {}

    def plan(self, itemsize: int, src: int, dst: int) -> Any:
        """Return the plan of a launch between two addresses."""
        key = itemsize, widest_unit(src), widest_unit(dst)
        plan = self.plans.get(key)
        if plan is None:
            plan = self.plans[key] = self.make(*key)
        return plan


class MovePrimitive(PlannedPrimitive):
    """A primitive that copies elements and depends only on their size."""

    def _kernel(self, variant: Any) -> Any:
        from ep.cuda.engine.move.move import kernel

        return kernel(*variant)

    def _move(self, stream: CudaStream, shape: Shape, itemsize: int, src: int, dst: int) -> None:
        """Queue a launch whose buffers have been checked, and which has elements."""
        plan = shape.plan(itemsize, src, dst)
        self._queue(stream, plan.variant, plan.num_items, src, dst, *plan.words)
