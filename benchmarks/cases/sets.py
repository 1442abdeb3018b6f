"""All cases, by set, size and dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from benchmarks.cases.binary import binary_cases
from benchmarks.cases.expand import expand_cases
from benchmarks.cases.gather import batch_gather_cases, gather_cases, transformer_cases
from benchmarks.cases.map import add_cases, cast_cases, fill_cases, one_hot_cases, where_cases
from benchmarks.cases.move import copy_nd_cases, memcpy_cases, memset_cases, pad_cases, permute_cases
from benchmarks.cases.product import matmul_cases
from benchmarks.cases.reduce import (
    reduce_cases,
    scan_cases,
    scatter_cases,
    segment_sum_cases,
    softmax_cases,
    sort_cases,
)
from benchmarks.cases.unary import unary_cases
from ep.bench.case import Case

SETS: Final[Mapping[str, Callable[[int, np.dtype[Any]], Iterator[Case]]]] = {
    "unary": unary_cases,
    "binary": binary_cases,
    "gather": gather_cases,
    "batch_gather": batch_gather_cases,
    "transformer": transformer_cases,
    "expand": expand_cases,
    "cast": cast_cases,
    "where": where_cases,
    "add": add_cases,
    "fill": fill_cases,
    "one_hot": one_hot_cases,
    "permute": permute_cases,
    "pad": pad_cases,
    "copy_nd": copy_nd_cases,
    "memcpy": memcpy_cases,
    "memset": memset_cases,
    "matmul": matmul_cases,
    "softmax": softmax_cases,
    "reduce": reduce_cases,
    "segment_sum": segment_sum_cases,
    "scatter": scatter_cases,
    "scan": scan_cases,
    "sort": sort_cases,
}
"""The functions that make the cases of a set, given the size of a result, about, and a dtype of `common.DTYPES`."""
