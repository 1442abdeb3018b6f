"""A classifier on an encoder's vectors: one linear layer, trained by the gradients of `ep.value_and_grad`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import ep
from ep import ops

Array = np.ndarray[Any, Any]


class Head:
    """A linear layer that scores classes, on vectors less the mean of the training vectors, divided by their spread."""

    def __init__(self, size: int, num_classes: int) -> None:
        """Start with equal classes. size: the size of a vector."""
        self.weights = np.zeros((size, num_classes), np.float32)
        self.bias = np.zeros(num_classes, np.float32)
        self.mean, self.spread = np.zeros(size, np.float32), np.ones((), np.float32)

    def train(self, vectors: Array, labels: Sequence[int], steps: int = 100, rate: float = 0.1) -> list[float]:
        """Take gradient steps on the mean cross entropy; return its value before each.

        vectors: `[n, size]`, as the encoder returns them. labels: the class of each.
        """
        self.mean = ops.mean(vectors, axis=0)
        self.spread = ops.sqrt(ops.mean(ops.square(ops.sub(vectors, self.mean))))
        vectors = self._scaled(vectors)
        wanted = np.array(labels, np.int64)[:, None]
        losses = []
        for _ in range(steps):
            loss, slopes = _loss_and_slopes(self.weights, self.bias, vectors, wanted)
            losses.append(float(loss))
            for parameter, slope in zip((self.weights, self.bias), slopes, strict=True):
                parameter -= rate * slope
        return losses

    def classes(self, vectors: Array) -> list[int]:
        """Return the class of each vector."""
        scores = ops.add(ops.matmul(self._scaled(vectors), self.weights), self.bias)
        return [int(best) for best in np.argmax(scores, axis=1)]

    def _scaled(self, vectors: Array) -> Array:
        scaled: Array = ops.div(ops.sub(vectors, self.mean), self.spread)
        return scaled


def _cross_entropy(weights: Array, bias: Array, vectors: Array, wanted: Array) -> Any:
    """Return the mean cross entropy over vectors; wanted: `[n, 1]`, the class of each."""
    scores = ops.log_softmax(ops.add(ops.matmul(vectors, weights), bias))
    return ops.negative(ops.mean(ops.gather(scores, wanted, axis=1, batch_dims=1)))


_loss_and_slopes = ep.value_and_grad(_cross_entropy, by=("weights", "bias"))


def labelled_lines(path: Path) -> list[tuple[str, str]]:
    """Return the class and the sentence on each line of a text file, separated by a tab; ValueError for other lines."""
    pairs = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        name, tab, sentence = line.strip().partition("\t")
        if name and not tab:
            raise ValueError(f"{path}, line {number} has no tab between a class and a sentence")
        if name:
            pairs.append((name, sentence))
    if len({name for name, _ in pairs}) < 2:
        raise ValueError(f"{path}: there is one class alone, or none; there must be two at least")
    return pairs
