"""The plan of a OneHot: the classes that a row of out is for."""

from __future__ import annotations

from typing import Final

from ep.common.primitive.signature import Signature
from ep.cpu.engine.plan import Plan, adjacent
from ep.cpu.shared.layout import layout

CLASSES: Final = layout("Classes", depth=1, lower_bound=1)

_ALL: Final = adjacent(CLASSES, "depth", "lower_bound")


class ClassPlan(Plan):
    """The plan of a launch of OneHot: the range of the classes, and the number of indices."""

    def __init__(self, signature: Signature, lower_bound: int, sizes: tuple[int, int]) -> None:
        """lower_bound: the first class; sizes: of the signature, the indices and the classes."""
        super().__init__(CLASSES, signature)
        self.set_words(_ALL, (sizes[1], lower_bound))
        self.set_checks(sizes, in_place=False)
