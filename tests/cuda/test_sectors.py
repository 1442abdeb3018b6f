"""The sectors of memory that warps request for each byte that they load or store, mainly for rows of odd lengths.

A sector has 32 bytes. For each byte, lanes that access adjacent numbers of `size` bytes request at most 1 + 1 / size
bytes if the first number does not begin a sector; short rows also end within a sector.
"""

from functools import partial

import ml_dtypes
import numpy as np
import pytest

from ep.bench import numpy_ways
from ep.bench.builders import binary, expand, gather
from ep.bench.builders_move import cut, pad, permute
from ep.bench.builders_reduce import reduce, segment_sum, softmax
from ep.include.primitive import BinaryOp, ReduceOp
from tools.ptx_counts import counts

FLOAT, HALF, BYTE = np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16), np.dtype(np.int8)

add = partial(binary, "add", BinaryOp.kAdd, numpy=numpy_ways.BINARY[BinaryOp.kAdd])
expand_rows, pad_rows, cut_rows = partial(expand, "expand"), partial(pad, "pad"), partial(cut, "cut")
turn, sums, soft = partial(permute, "permute"), partial(reduce, "sum", ReduceOp.kSum), partial(softmax, "softmax")
images = (2, 3, 33, 35), (0, 0, 1, 1), (0, 0, 1, 1)
boxes = (30, 131), (1, 3), (27, 125)

CASES = {
    # a function that makes a case, its arguments, and upper bounds for the sectors per loaded and per stored byte
    "softmax f32 197": (soft, (64, 197, FLOAT), 1.3, 1.3),
    "softmax f32 31": (soft, (256, 31, FLOAT), 2.0, 2.0),  # by eight threads: with more, instructions take longer
    "softmax bf16 577": (soft, (16, 577, HALF), 1.6, 1.6),
    "softmax bf16 1002": (soft, (16, 1002, HALF), 1.3, 1.3),
    "softmax f32 3001": (soft, (4, 3001, FLOAT), 1.3, 1.3),
    "softmax f32 3004": (soft, (4, 3004, FLOAT), 1.05, 1.05),
    "softmax bf16 50257": (soft, (2, 50257, HALF), 1.6, 1.6),
    "sum f32 197": (sums, ((64, 197), (1,), FLOAT), 1.3, None),
    "sum bf16 577": (sums, ((16, 577), (1,), HALF), 1.6, None),
    "sum int8 577": (sums, ((16, 577), (1,), BYTE), 2.1, None),
    "sum f32 50257": (sums, ((2, 50257), (1,), FLOAT), 1.3, None),
    "sum f32 7": (sums, ((512, 7), (1,), FLOAT), 2.0, 2.0),
    "column sum f32 67": (sums, ((100, 67), (0,), FLOAT), 1.35, None),
    "pad f32": (pad_rows, (*images, FLOAT), 1.5, 1.1),
    "pad bf16": (pad_rows, (*images, HALF), 1.9, 1.1),
    "pad int8": (pad_rows, (*images, BYTE), 7.1, 1.1),  # bytes of a word, one by one
    "expand f32": (expand_rows, ((1, 197), (40, 197), FLOAT), 1.3, 1.1),
    "expand bf16": (expand_rows, ((1, 197), (40, 197), HALF), 1.6, 1.1),
    "expand int8": (expand_rows, ((1, 197), (40, 197), BYTE), 1.9, 1.1),
    "expand int8 1001": (expand_rows, ((1, 1001), (8, 1001), BYTE), 1.5, 1.1),
    "cut f32": (cut_rows, (*boxes, FLOAT), 1.4, 1.1),
    "cut int8": (cut_rows, (*boxes, BYTE), 2.1, 1.1),
    "permute f32": (turn, ((65, 131), (1, 0), FLOAT), 1.6, 1.6),
    "gather f32 67": (partial(gather, "gather"), (100, 67, 50), 1.3, 1.1),
    "add f32, a row": (add, ((30, 67), (67,)), 1.7, 1.1),
    "segment sum f32 67": (partial(segment_sum, "sums", 64, 9), (67, FLOAT), 1.5, 1.6),
}
SHARE = 0.1
"""The sectors of a kernel's loads or stores are checked if these have at least this share of the bytes of a launch."""


@pytest.mark.parametrize("name", CASES)
def test_sectors_for_each_byte(cuda, name):
    if not cuda.driver.loads_ptx:
        pytest.skip("kernels do not run from their PTX")
    make, arguments, *most = CASES[name]
    case = make(*arguments, group="sectors")
    seen = [False, False]
    for count in counts(case, cuda.driver):
        for side, requests in enumerate((count.loads, count.stores)):
            if requests.num_bytes > SHARE * case.bytes_moved:
                assert requests.sectors_per_byte <= most[side], count.kernel
                seen[side] = True
    assert seen == [bound is not None for bound in most]
