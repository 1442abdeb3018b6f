"""An encoder of the BERT family that only launches primitives: from tokens to a vector of length 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import ep
from ep import BinaryOp, BlasTransposeType, DeviceType, UnaryOp
from ep.include import primitive as p
from examples.encoder.batch import padded
from examples.encoder.memory import Memory

N, T = BlasTransposeType
F = "float32"
Array = np.ndarray[Any, Any]


class Config(NamedTuple):
    """The sizes of the model, by the names in its `config.json`."""

    hidden_size: int
    intermediate_size: int
    num_attention_heads: int
    num_hidden_layers: int
    layer_norm_eps: float


class Encoder:
    """A model on a device. It is not thread-safe: it has the buffers of one batch."""

    def __init__(self, config: Config, weights: Mapping[str, Array], device_type: DeviceType = DeviceType.kCPU) -> None:
        """Upload the weights: float32, by BERT's names; those of linear layers are `[out, in]`."""
        self.config = config
        device = ep.DeviceManagerRegistry.GetDevice(device_type, 0)
        stream = device.CreateStream()
        self._memory = Memory(device, stream)

        def launch(factory: Any, *key: Any) -> Any:
            return partial(ep.RequirePrimitive(factory, device_type, *key).Launch, stream)

        self._run = SimpleNamespace(
            gather=launch(p.GatherFactory, F, "int64"),
            expand=launch(p.ExpandFactory, F, 4),
            permute=launch(p.PermuteFactory, 5),
            fill=launch(p.FillFactory, F),
            add=launch(p.BroadcastElementwiseBinaryFactory, BinaryOp.kAdd, F, F, 2),
            subtract=launch(p.BroadcastElementwiseBinaryFactory, BinaryOp.kSub, F, F, 2),
            multiply=launch(p.BroadcastElementwiseBinaryFactory, BinaryOp.kMul, F, F, 2),
            square=launch(p.ElementwiseUnaryFactory, UnaryOp.kSquare, F, F),
            rsqrt=launch(p.ElementwiseUnaryFactory, UnaryOp.kRsqrt, F, F),
            gelu=launch(p.ElementwiseUnaryFactory, UnaryOp.kGelu, F, F),
            softmax=launch(p.SoftmaxFactory, F),
            matmul=launch(p.MatmulFactory, F, N, N),
            batch_matmul=launch(p.BatchMatmulFactory, F, N, N),
            batch_matmul_t=launch(p.BatchMatmulFactory, F, N, T),
        )
        stored = {}
        for name, array in weights.items():  # linear layers as [in, out], with which products of few rows are faster
            stored[name] = array if name.startswith("embeddings") else array.T
        for layer in range(config.num_hidden_layers):  # queries, keys and values in one product
            for kind in ("weight", "bias"):
                names = [f"encoder.layer.{layer}.attention.self.{part}.{kind}" for part in ("query", "key", "value")]
                joined = np.concatenate([stored.pop(name) for name in names], axis=-1)
                stored[f"encoder.layer.{layer}.attention.self.{kind}"] = joined
        self._weights = self._memory.upload_all(stored)
        self._ones = self._memory.upload(np.ones(config.hidden_size, np.float32))

    def encode(self, sentences: Sequence[Sequence[int]]) -> Array:
        """Return the vectors `[sentences, hidden_size]` of sentences, which are lists of at least one token id."""
        run, size = self._run, self.config.hidden_size
        ids, is_token = padded(sentences)
        batch, tokens = ids.shape
        rows, words = batch * tokens, self._weights["embeddings.word_embeddings.weight"]
        self._buffers = self._memory.buffers(
            **{"x": rows * size, "squares": rows * size, "heads": 3 * rows * size, "vectors": batch * size},
            **{"inner": rows * max(self.config.intermediate_size, 3 * size), "per_row": rows},
            scores=self.config.num_attention_heads * rows * tokens,
        )
        x, inner, vectors, squares = self._buffers.x, self._buffers.inner, self._buffers.vectors, self._buffers.squares
        run.gather(1, words.size // size, size, words, rows, self._memory.upload(ids), x)
        # all tokens are of the first type: its vector is added to the positions
        positions = self._weights["embeddings.position_embeddings.weight"][: tokens * size]
        kind = self._weights["embeddings.token_type_embeddings.weight"][:size]
        run.add((tokens, size), positions, (1, size), kind, inner)
        run.add((batch, tokens * size), x, (1, tokens * size), inner, x)
        self._norm(x, rows, "embeddings.LayerNorm")
        mask = None if is_token.all() else self._memory.upload(np.where(is_token, 0, -np.inf).astype(np.float32))
        for layer in range(self.config.num_hidden_layers):
            self._layer(f"encoder.layer.{layer}", batch, tokens, mask)
        shares = self._memory.upload((is_token / is_token.sum(axis=1, keepdims=True)).astype(np.float32))
        run.batch_matmul(batch, 1, size, tokens, 1, shares, x, 0, vectors)
        run.square(vectors, squares, batch * size)
        run.matmul(batch, 1, size, 1, squares, self._ones, 0, self._buffers.per_row)
        run.rsqrt(self._buffers.per_row, self._buffers.per_row, batch)
        run.multiply((batch, size), vectors, (batch, 1), self._buffers.per_row, vectors)
        return self._memory.download(vectors, batch, size)

    def _layer(self, name: str, batch: int, tokens: int, mask: Any) -> None:
        """Compute attention, then two linear layers; each is added to its input and normalised."""
        run, buffers, size, heads = self._run, self._buffers, self.config.hidden_size, self.config.num_attention_heads
        rows, width, x, scores = batch * tokens, size // heads, buffers.x, buffers.scores
        self._linear(x, rows, f"{name}.attention.self", buffers.inner)
        run.permute(F, (batch, tokens, 3, heads, width), buffers.inner, (2, 0, 3, 1, 4), buffers.heads)
        queries, keys, values = (buffers.heads[part * rows * size :][: rows * size] for part in range(3))
        if mask is not None:
            run.expand((batch, 1, 1, tokens), mask, (batch, heads, tokens, tokens), scores)
        beta, factor = 0 if mask is None else 1, 1 / math.sqrt(width)
        run.batch_matmul_t(batch * heads, tokens, tokens, width, factor, queries, keys, beta, scores)
        run.softmax(batch * heads * tokens, tokens, scores, scores)
        run.batch_matmul(batch * heads, tokens, width, tokens, 1, scores, values, 0, buffers.inner)
        run.permute(F, (batch, heads, tokens, width), buffers.inner, (0, 2, 1, 3), buffers.heads)
        self._add_linear(buffers.heads, rows, f"{name}.attention.output", x)
        self._linear(x, rows, f"{name}.intermediate.dense", buffers.inner)
        run.gelu(buffers.inner, buffers.inner, rows * self.config.intermediate_size)
        self._add_linear(buffers.inner, rows, f"{name}.output", x)

    def _linear(self, x: Any, rows: int, name: str, out: Any) -> None:
        """Compute `out = x weight + bias`: the bias is written first, and the product is added to it."""
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        self._run.expand((1, bias.size), bias, (rows, bias.size), out)
        self._run.matmul(rows, bias.size, weight.size // bias.size, 1, x, weight, 1, out)

    def _add_linear(self, x: Any, rows: int, name: str, out: Any) -> None:
        """Compute `out = norm(out + x weight + bias)`."""
        weight, bias = self._weights[f"{name}.dense.weight"], self._weights[f"{name}.dense.bias"]
        self._run.add((rows, bias.size), out, (1, bias.size), bias, out)
        self._run.matmul(rows, bias.size, weight.size // bias.size, 1, x, weight, 1, out)
        self._norm(out, rows, f"{name}.LayerNorm")

    def _norm(self, x: Any, rows: int, name: str) -> None:
        """Normalise each row to mean 0 and standard deviation 1, then scale and shift it by the weights."""
        run, size, per_row, squares = self._run, self.config.hidden_size, self._buffers.per_row, self._buffers.squares
        run.matmul(rows, 1, size, 1 / size, x, self._ones, 0, per_row)
        run.subtract((rows, size), x, (rows, 1), per_row, x)
        run.square(x, squares, rows * size)
        run.fill(per_row, self.config.layer_norm_eps, rows)
        run.matmul(rows, 1, size, 1 / size, squares, self._ones, 1, per_row)
        run.rsqrt(per_row, per_row, rows)
        run.multiply((rows, size), x, (rows, 1), per_row, x)
        run.multiply((rows, size), x, (1, size), self._weights[f"{name}.weight"], x)
        run.add((rows, size), x, (1, size), self._weights[f"{name}.bias"], x)
