"""The encoder on several ranks: each has some heads and some inner units; two all-reduces per layer sum their results.

Matrices from the hidden vectors are split by columns, matrices back to them by rows. The first product gives each rank
its own columns, and the next one a partial sum. Tensors are those of `ep.mesh`, for which `ep.ops` finds the
signatures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ep import ops
from ep.mesh import GlobalTensor, Placement, from_whole, to_global
from examples.encoder.batch import padded
from examples.encoder.encoder import Config

Array = np.ndarray[Any, Any]


class SplitEncoder:
    """A model on all ranks of a mesh of one axis. Every rank creates and calls it with the same arguments."""

    def __init__(self, config: Config, weights: Mapping[str, Array], placement: Placement) -> None:
        """weights: as for Encoder; of memory-mapped weights, only the rank's pieces are read.

        Raises ValueError if the number of ranks does not divide the number of heads.
        """
        if config.num_attention_heads % placement.ranks:
            raise ValueError(f"{placement.ranks} ranks do not divide {config.num_attention_heads} heads")
        self.config, self._ranks = config, placement
        self._weights = {name: self._placed(name, array) for name, array in weights.items()}

    def _placed(self, name: str, array: Array) -> GlobalTensor:
        """Return a weight on the ranks; for a linear layer as `[in, out]`."""
        to_inner = ".attention.self." in name or ".intermediate.dense." in name
        from_inner = name.endswith(".output.dense.weight")
        is_matrix = not name.startswith("embeddings") and array.ndim == 2
        sbp = ("S(1)" if is_matrix else "S(0)") if to_inner else "S(0)" if from_inner else "B"
        return from_whole(array.T if is_matrix else array, self._ranks, sbp)

    def encode(self, sentences: Sequence[Sequence[int]]) -> Array:
        """Return the vectors `[sentences, hidden_size]` of sentences, which are lists of at least one token id."""
        w, size = self._weights, self.config.hidden_size
        ids, is_token = padded(sentences)
        batch, tokens = ids.shape
        words = ops.gather(w["embeddings.word_embeddings.weight"], self._whole(ids))
        positions = ops.slice(w["embeddings.position_embeddings.weight"], (0, tokens))
        kinds = ops.add(positions, ops.slice(w["embeddings.token_type_embeddings.weight"], (0, 1)))
        x = self._norm(self._reshaped(ops.add(words, kinds), batch * tokens, size), "embeddings.LayerNorm")
        mask = self._whole(np.where(is_token, 0, -np.inf).astype(np.float32)[:, None, None])
        for layer in range(self.config.num_hidden_layers):
            name = f"encoder.layer.{layer}"
            context = self._attention(x, f"{name}.attention.self", batch, tokens, mask)
            x = self._joined(x, context, f"{name}.attention.output")
            inner = ops.gelu(self._linear(x, f"{name}.intermediate.dense"))
            x = self._joined(x, inner, f"{name}.output")
        shares = self._whole((is_token / is_token.sum(axis=1, keepdims=True)).astype(np.float32)[:, None])
        vectors = ops.matmul(shares, self._reshaped(x, batch, tokens, size)).to_local().reshape(batch, size)
        found: Array = ops.div(vectors, ops.sqrt(ops.sum(ops.square(vectors), axis=1, keepdims=True)))
        return found

    def _attention(self, x: GlobalTensor, name: str, batch: int, tokens: int, mask: GlobalTensor) -> GlobalTensor:
        """Return the attention of each rank's own heads: `[batch * tokens, hidden_size]`, split by columns."""
        heads, width = self.config.num_attention_heads, self.config.hidden_size // self.config.num_attention_heads
        mine = heads // self._ranks.ranks

        def of(part: str) -> GlobalTensor:
            columns = self._linear(x, f"{name}.{part}").to_local()
            of_heads = to_global(columns.reshape(batch, tokens, mine, width), self._ranks, "S(2)")
            permuted: GlobalTensor = ops.permute(of_heads, (0, 2, 1, 3))
            return permuted

        scores = ops.mul(ops.matmul(of("query"), of("key"), transpose_x2=True), 1 / math.sqrt(width))
        context = ops.matmul(ops.softmax(ops.add(scores, mask)), of("value"))
        columns = ops.permute(context, (0, 2, 1, 3)).to_local()
        return to_global(columns.reshape(batch * tokens, mine * width), self._ranks, "S(1)")

    def _linear(self, x: GlobalTensor, name: str) -> GlobalTensor:
        """Return `x weight + bias`."""
        w = self._weights
        result: GlobalTensor = ops.add(ops.matmul(x, w[f"{name}.weight"]), w[f"{name}.bias"])
        return result

    def _joined(self, x: GlobalTensor, inner: GlobalTensor, name: str) -> GlobalTensor:
        """Return `norm(x + inner weight + bias)`; the product is a partial sum on each rank, then reduced."""
        product = ops.matmul(inner, self._weights[f"{name}.dense.weight"]).to("B")
        total = ops.add(ops.add(x, self._weights[f"{name}.dense.bias"]), product)
        return self._norm(total, f"{name}.LayerNorm")

    def _norm(self, x: GlobalTensor, name: str) -> GlobalTensor:
        """Normalise each row to mean 0 and standard deviation 1, then scale and shift it by the weights."""
        x = ops.sub(x, ops.mean(x, axis=1, keepdims=True))
        variance = ops.mean(ops.square(x), axis=1, keepdims=True)
        x = ops.mul(x, ops.rsqrt(ops.add(variance, self.config.layer_norm_eps)))
        result: GlobalTensor = ops.add(ops.mul(x, self._weights[f"{name}.weight"]), self._weights[f"{name}.bias"])
        return result

    def _whole(self, array: Array) -> GlobalTensor:
        return from_whole(array, self._ranks, "B")

    def _reshaped(self, x: GlobalTensor, *shape: int) -> GlobalTensor:
        """Reshape a tensor that is whole on every rank."""
        return to_global(x.to_local().reshape(shape), self._ranks, "B")
