"""The short set of cases that `ep bench` runs."""

from __future__ import annotations

import math

import numpy as np

from ep.bench import numpy_ways
from ep.bench.builders import batch_gather, binary, expand, gather, unary
from ep.bench.builders_map import add, cast, fill, one_hot, tensor_fill, transpose, where
from ep.bench.builders_move import copy_bytes, cut, join, pad, permute, set_bytes
from ep.bench.builders_product import broadcast_matmul, matmul
from ep.bench.builders_reduce import reduce, scan, scatter, segment_sum, softmax, sort
from ep.bench.builders_trees import tree_ensemble
from ep.bench.case import Case
from ep.include.primitive import BinaryOp, ReduceOp, UnaryOp


def copy(count: int) -> Case:
    """Return a plain copy of float32, which measures the memory bandwidth of the device."""
    return unary("copy", UnaryOp.kIdentity, (count,), numpy_ways.UNARY[UnaryOp.kIdentity])


def bench_cases(count: int) -> list[Case]:
    """Return the cases of `ep bench`, with about `count` elements in each result; count is at least 4096."""
    rows = count // 64
    side = math.isqrt(count)
    dims = (side, side)
    return [
        gather("rows of 64", rows, 64, rows),
        gather("rows of 1,024", max(count // 1024, 1), 1024, max(count // 1024, 1)),
        gather("single elements", count, 1, count),
        batch_gather("rows of 64, 16 batches", 16, rows // 16, 64, rows // 16),
        expand("along the first axis", (1, side), dims),
        expand("along the last axis", (side, 1), dims),
        expand("attention mask", (4, 1, 1, side), (4, 4, side // 16, side), np.bool_),
        unary("relu", UnaryOp.kRelu, dims, numpy_ways.relu),
        unary("exp", UnaryOp.kExp, dims, np.exp, 1e-6),
        unary("fast_gelu", UnaryOp.kFastGelu, dims, numpy_ways.fast_gelu, 1e-5),
        binary("add, same shape", BinaryOp.kAdd, dims, dims, np.add),
        binary("add a row", BinaryOp.kAdd, dims, (side,), np.add),
        binary("multiply by a column", BinaryOp.kMul, dims, (side, 1), np.multiply),
        cast("cast to float16", dims, np.float32, np.float16),
        transpose("cast a transpose to float64", side, side, np.float32, np.float64),
        where("where, one shape", dims, dims, dims),
        add("add 4 operands", 4, dims),
        fill("fill", dims),
        tensor_fill("fill with an element", dims),
        one_hot("one-hot of 1,000", max(count // 1000, 1), 1000),
        permute("transpose", dims, (1, 0)),
        permute("heads before positions", (4, side, side // 64, 16), (0, 2, 1, 3)),
        pad("border of 1", dims, (1, 1), (1, 1)),
        cut("columns of wider rows", (side, side + 3), (0, 1), dims),
        join("2 matrices side by side", (side, side // 2), 1),
        copy_bytes("copy bytes", dims),
        set_bytes("set bytes", dims),
        matmul("rows by weights", count // 384, 384, 384),
        matmul("scores of heads", 64, 64, 32, batch_size=max(count // 4096, 1), transpose_b=True),
        broadcast_matmul("sentences by weights", 4, side // 4, side, 64),
        softmax("softmax", side, side),
        softmax("log-softmax", side, side, log=True),
        softmax("softmax, gradient", side, side, backward=True),
        softmax("log-softmax, gradient", side, side, log=True, backward=True),
        reduce("sum, last axis", ReduceOp.kSum, dims, (1,)),
        reduce("sum, first axis", ReduceOp.kSum, dims, (0,)),
        segment_sum("sum of segments", side, side, side),
        segment_sum("sum of batches' segments", side // 4, side // 4, side, batch=4),
        scatter("rows in another order", side, side),
        scan("running sums of rows", (side, side), 1),
        sort("five largest of each row", side, side, min(5, side)),
        tree_ensemble("32 trees of depth 6", rows, 16, 32, 6),
        binary("less than a scalar", BinaryOp.kLessThan, dims, (), np.less, np.bool_),
    ]
