"""What the host makes of outputs that are no arrays of numbers: arrays of strings, and lists of dicts."""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from ep.garbage import garbage_waits

_FEW: Final = 64
"""The most numbers of which dicts are made at once, before a collection of garbage could begin."""


class Labels(NamedTuple):
    """What the elements of a value stand for: the labels at places; for a map, those of the numbers of each row."""

    labels: tuple[str | int, ...]
    is_map: bool = False

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of an output of a model."""
        return np.dtype(object if self.is_map else np.str_)

    def of(self, array: np.ndarray[Any, Any]) -> Any:
        """Return the array of strings, or the list of dicts, that an array on the host stands for."""
        if not self.is_map:
            return _strings(self.labels)[array]
        if array.size <= _FEW:
            return [dict(zip(self.labels, row)) for row in array.reshape(-1, len(self.labels)).tolist()]  # noqa: B905
        first, *others = self.labels
        columns = array.reshape(-1, len(self.labels)).T.tolist()
        with garbage_waits():  # the dicts are kept, and collections would visit all of them again and again
            rows = [{first: number} for number in columns[0]]
            for label, column in zip(others, columns[1:], strict=True):
                for row, number in zip(rows, column, strict=True):
                    row[label] = number
        return rows


@cache
def _strings(labels: tuple[str | int, ...]) -> np.ndarray[Any, Any]:
    return np.array(labels)
