"""The gradient of an operator: what its rule is given, and returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ep.common.lazy import lazy


@dataclass(frozen=True)
class Backward:
    """The arguments of a gradient rule.

    inputs: of the operator, arrays. attributes: resolved.
    dy: the gradient with respect to the result; a list of them for an operator with several results.
    result: returns the result, likewise.
    """

    inputs: Sequence[Any]
    attributes: Mapping[str, Any]
    dy: Any
    result: Callable[[], Any]

    @lazy
    def output(self) -> Any:
        """The result, computed only if a rule reads it and the caller did not give it."""
        return self.result()


Gradients: TypeAlias = Sequence[Any]
"""A gradient for each input; None for an input that has none, such as indices."""

Rule: TypeAlias = Callable[[Backward], Gradients]
"""The gradient of an operator. It computes with operators alone, so it runs on any device, and has gradients itself.

Sums are those of Reduce and UnsortedSegmentSum, which have the same bits in every run.
"""
