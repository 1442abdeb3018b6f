"""The plan of OneHot: the range of classes of each row of out."""

from __future__ import annotations

from typing import Final

from ep.common.native.fields import word
from ep.common.native.record import Record
from ep.common.primitive.signature import Signature
from ep.cpu.engine.loop_nest import LoopNest, adjacent


class ClassLoops(Record):
    depth = word()
    lower_bound = word()


_ALL: Final = adjacent(ClassLoops, "depth", "lower_bound")


class ClassPlan(LoopNest):
    """The plan for a range of classes and a number of indices."""

    def __init__(self, signature: Signature, lower_bound: int, sizes: tuple[int, int]) -> None:
        """Make the plan.

        lower_bound: the first class.
        sizes: the sizes of the signature: the number of indices and the number of classes.
        """
        super().__init__(ClassLoops, signature)
        self.set_words(_ALL, (sizes[1], lower_bound))
        self.set_checks(sizes, in_place=False)
