"""The encoder on several ranks: each has some heads and some inner units; two all-reduces per layer sum their results.

Matrices from the hidden vectors are split by columns, matrices back to them by rows. The first product gives each rank
its own columns, and the next one a partial sum. Tensors are those of `ep.mesh`, for which `ep.ops` finds the
signatures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ep.mesh import GlobalTensor, Placement, from_whole, to_global
from examples.encoder.encoder import Config
from examples.encoder.operator_encoder import OperatorEncoder, is_matrix

Array = np.ndarray[Any, Any]


class SplitEncoder(OperatorEncoder):
    """A model on all ranks of a mesh of one axis. Every rank creates and calls it with the same arguments."""

    def __init__(self, config: Config, weights: Mapping[str, Array], placement: Placement) -> None:
        """weights: as for Encoder; of memory-mapped weights, only the rank's pieces are read.

        Raises ValueError if the number of ranks does not divide the number of heads.
        """
        if config.num_attention_heads % placement.ranks:
            raise ValueError(f"{placement.ranks} ranks do not divide {config.num_attention_heads} heads")
        self._ranks = placement
        super().__init__(config, weights)

    def encode(self, sentences: Sequence[Sequence[int]]) -> Array:
        """Return the vectors `[sentences, hidden_size]` of sentences, which are lists of at least one token id."""
        found: Array = self.vectors(self._weights, *self._batch(sentences)).to_local()
        return found

    def _placed(self, name: str, array: Array) -> GlobalTensor:
        to_inner = ".attention.self." in name or ".intermediate.dense." in name
        from_inner = name.endswith(".output.dense.weight")
        matrix = is_matrix(name, array)
        sbp = ("S(1)" if matrix else "S(0)") if to_inner else "S(0)" if from_inner else "B"
        return from_whole(array.T if matrix else array, self._ranks, sbp)

    def _whole(self, array: Array) -> GlobalTensor:
        return from_whole(array, self._ranks, "B")

    def _reshaped(self, x: GlobalTensor, *shape: int) -> GlobalTensor:
        return to_global(x.to_local().reshape(shape), self._ranks, "B")

    def _in_heads(self, x: GlobalTensor, batch: int, tokens: int) -> GlobalTensor:
        """Return each rank's own heads."""
        heads = self.config.num_attention_heads
        mine, width = heads // self._ranks.ranks, self.config.hidden_size // heads
        return to_global(x.to_local().reshape(batch, tokens, mine, width), self._ranks, "S(2)")

    def _in_columns(self, x: GlobalTensor) -> GlobalTensor:
        own = x.to_local()
        batch, tokens, heads, width = own.shape
        return to_global(own.reshape(batch * tokens, heads * width), self._ranks, "S(1)")

    def _added_up(self, product: GlobalTensor) -> GlobalTensor:
        """Return the sum of the ranks' partial sums."""
        return product.to("B")
