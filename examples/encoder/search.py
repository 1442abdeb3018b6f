"""Search by meaning in the lines of a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress

from ep import ops
from examples.encoder.model import Model

_BATCH = 32


class Index:
    """The lines of a text, and a vector for each."""

    def __init__(self, model: Model, lines: Sequence[str], progress: Progress | None = None) -> None:
        """Encode the lines; `progress` shows the progress."""
        self._model, self.lines = model, lines
        # lines of similar length together, so that there is little padding
        order = sorted(range(len(lines)), key=lambda number: len(lines[number]))
        self._vectors: np.ndarray[Any, Any] | None = None
        task = progress.add_task("reading", total=len(lines)) if progress else None
        for numbers in _pieces(order):
            vectors = model.encode([lines[number] for number in numbers])
            if self._vectors is None:
                self._vectors = np.empty((len(lines), vectors.shape[1]), np.float32)
            self._vectors[numbers] = vectors
            if progress and task is not None:
                progress.advance(task, len(numbers))

    def nearest(self, query: str, count: int = 5) -> list[tuple[float, str]]:
        """Return the lines nearest to a query, the nearest first, each with its similarity."""
        if self._vectors is None:
            return []
        similarities = ops.matmul(self._vectors, self._model.encode([query])[0])
        best = np.argsort(-similarities, kind="stable")[:count]
        return [(float(similarities[number]), self.lines[number]) for number in best]


def lines_of(path: Path) -> list[str]:
    """Return the lines of a text file that are not blank."""
    return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _pieces(order: Sequence[int]) -> Iterator[Sequence[int]]:
    for first in range(0, len(order), _BATCH):
        yield order[first : first + _BATCH]
