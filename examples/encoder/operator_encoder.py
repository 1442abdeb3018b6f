"""The encoder in operators: on any device, with another one that computes what the first has no kernels for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import ep
from ep import ops
from examples.encoder.batch import padded
from examples.encoder.encoder import Config

Array = np.ndarray[Any, Any]


class OperatorEncoder:
    """A model on a device."""

    def __init__(
        self, config: Config, weights: Mapping[str, Array], device: str = "cpu", otherwise: str | None = None
    ) -> None:
        """Copy the weights, as for Encoder, to the device. otherwise: as of `ep.fuse`."""
        self.config, self._device = config, device
        self._weights = {name: self._placed(name, array) for name, array in weights.items()}
        self._compute = ep.fuse(self.vectors, otherwise=otherwise)

    def encode(self, sentences: Sequence[Sequence[int]]) -> Array:
        """Return the vectors `[sentences, hidden_size]` of sentences, which are lists of at least one token id."""
        found: Array = ops.copy_to_host(self._compute(self._weights, *self._batch(sentences)))
        return found

    def explain(self, sentences: Sequence[Sequence[int]]) -> str:
        """Return the kernels for such sentences, and what each device computes."""
        return self._compute.explain(self._weights, *self._batch(sentences))

    def vectors(self, weights: Mapping[str, Any], ids: Any, mask: Any, shares: Any) -> Any:
        """Return the vectors. ids: of tokens. mask: what is added to scores. shares: of each token in its sentence."""
        size, (batch, tokens) = self.config.hidden_size, ids.shape
        words = ops.gather(weights["embeddings.word_embeddings.weight"], ids)
        positions = ops.slice(weights["embeddings.position_embeddings.weight"], (0, tokens))
        kinds = ops.add(positions, ops.slice(weights["embeddings.token_type_embeddings.weight"], (0, 1)))
        x = self._norm(weights, self._reshaped(ops.add(words, kinds), batch * tokens, size), "embeddings.LayerNorm")
        for layer in range(self.config.num_hidden_layers):
            name = f"encoder.layer.{layer}"
            context = self._attention(weights, x, f"{name}.attention.self", (batch, tokens), mask)
            x = self._joined(weights, x, context, f"{name}.attention.output")
            inner = ops.gelu(self._linear(weights, x, f"{name}.intermediate.dense"))
            x = self._joined(weights, x, inner, f"{name}.output")
        vectors = self._reshaped(ops.matmul(shares, self._reshaped(x, batch, tokens, size)), batch, size)
        return ops.div(vectors, ops.sqrt(ops.sum(ops.square(vectors), axis=1, keepdims=True)))

    def _batch(self, sentences: Sequence[Sequence[int]]) -> list[Any]:
        """Return the token ids, the mask and the shares of sentences."""
        ids, is_token = padded(sentences)
        mask = np.where(is_token, 0, -np.inf).astype(np.float32)[:, None, None]
        shares = (is_token / is_token.sum(axis=1, keepdims=True)).astype(np.float32)[:, None]
        return [*map(self._whole, (ids, mask, shares))]

    def _attention(self, weights: Mapping[str, Any], x: Any, name: str, sizes: tuple[int, int], mask: Any) -> Any:
        """Return the attention `[batch * tokens, hidden_size]`. sizes: batch and tokens."""
        parts = [self._linear(weights, x, f"{name}.{part}") for part in ("query", "key", "value")]
        query, key, value = (ops.permute(self._in_heads(part, *sizes), (0, 2, 1, 3)) for part in parts)
        factor = 1 / math.sqrt(self.config.hidden_size // self.config.num_attention_heads)
        scores = ops.mul(ops.matmul(query, key, transpose_x2=True), factor)
        context = ops.matmul(ops.softmax(ops.add(scores, mask)), value)
        return self._in_columns(ops.permute(context, (0, 2, 1, 3)))

    def _linear(self, weights: Mapping[str, Any], x: Any, name: str) -> Any:
        """Return `x weight + bias`."""
        return ops.add(ops.matmul(x, weights[f"{name}.weight"]), weights[f"{name}.bias"])

    def _joined(self, weights: Mapping[str, Any], x: Any, inner: Any, name: str) -> Any:
        """Return `norm(x + inner weight + bias)`."""
        product = self._added_up(ops.matmul(inner, weights[f"{name}.dense.weight"]))
        total = ops.add(ops.add(x, weights[f"{name}.dense.bias"]), product)
        return self._norm(weights, total, f"{name}.LayerNorm")

    def _norm(self, weights: Mapping[str, Any], x: Any, name: str) -> Any:
        """Normalise each row to mean 0 and standard deviation 1, then scale and shift it by the weights."""
        x = ops.sub(x, ops.mean(x, axis=1, keepdims=True))
        variance = ops.mean(ops.square(x), axis=1, keepdims=True)
        x = ops.mul(x, ops.rsqrt(ops.add(variance, self.config.layer_norm_eps)))
        return ops.add(ops.mul(x, weights[f"{name}.weight"]), weights[f"{name}.bias"])

    def _placed(self, name: str, array: Array) -> Any:
        """Return a weight where it is used; that of a linear layer as `[in, out]`."""
        return self._whole(array.T if is_matrix(name, array) else array)

    def _whole(self, array: Array) -> Any:
        """Return an array where it is used."""
        return ops.copy_to_device(array, self._device)

    def _reshaped(self, x: Any, *shape: int) -> Any:
        return x.reshape(shape)

    def _in_heads(self, x: Any, batch: int, tokens: int) -> Any:
        """Return columns as `[batch, tokens, heads, width]`."""
        heads = self.config.num_attention_heads
        return x.reshape((batch, tokens, heads, self.config.hidden_size // heads))

    def _in_columns(self, x: Any) -> Any:
        """Return what `_in_heads` returns as columns again."""
        batch, tokens, heads, width = x.shape
        return x.reshape((batch * tokens, heads * width))

    def _added_up(self, product: Any) -> Any:
        """Return a product in the form to which others are added."""
        return product


def is_matrix(name: str, array: Array) -> bool:
    """Return whether a weight is that of a linear layer."""
    return not name.startswith("embeddings") and array.ndim == 2
