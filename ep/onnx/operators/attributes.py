"""How operators get their attributes: those of older opsets, and those that have one of a few values."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

import numpy as np


def by_attributes(function: Callable[..., Any], *names: str) -> Callable[..., Any]:
    """Return an operator as it was before these attributes became its inputs, those after the first one."""

    def call(x: Any, **attributes: Any) -> Any:
        given = (attributes.pop(name, None) for name in names)
        return function(x, *(np.array(one) if isinstance(one, list) else one for one in given), **attributes)

    return call


def one_of(**known: Collection[str | int]) -> Callable[..., None]:
    """Return what takes attributes and raises NotImplementedError for a value that is not known."""

    def check(**attributes: Any) -> None:
        for name, values in known.items():
            given = attributes.get(name)
            if given is not None and given not in values:
                raise NotImplementedError(f"{name} is {given}; it must be one of {', '.join(map(str, values))}")

    return check


check_common: Final = one_of(
    **dict.fromkeys(
        (
            "align_corners", "allowzero", "antialias", "ceil_mode", "count_include_pad", "detect_negative",
            "detect_positive", "exclude_outside", "exclusive", "fmod", "input_forget", "interleaved", "is_causal",
            "keepdims", "largest", "layout", "linear_before_reset", "noop_with_empty_axes", "periodic", "reverse",
            "saturate", "select_last_index", "sorted", "spatial", "storage_order", "training_mode", "transA",
            "transB", "upper",
        ),
        (0, 1),
    ),
    round_mode=("up", "down", "nearest"),
)  # fmt: skip
"""Checks the attributes that have the same values for each operator that has them: most are a choice of two."""
