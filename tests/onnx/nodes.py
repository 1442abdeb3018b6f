"""The test cases of the package onnx for each of its operators, with the expected results."""

import functools
import warnings
import zlib

import numpy as np
import onnx
import onnx.backend.test.loader as loader

CHUNKS = 96
"""The number of parts, which have about the same number of cases; each case is always in the same part."""

ROUNDED_ELSEWHERE = ("test_attention_4d_causal_fp16", "test_attention_4d_causal_fp16_expanded")
"""ep adds in float32; the results differ by one float16 number from those of ONNX, which rounds after each step."""


@functools.cache
def chunks():
    """Return the cases of each part; warnings of overflow while inputs are made are ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = loader.load_model_tests(kind="node")
    found = [[] for _ in range(CHUNKS)]
    for case in cases:
        found[zlib.crc32(case.name.encode()) % CHUNKS].append(case)
    return found


def as_array(value):
    """Return an input or a result as an ndarray."""
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def check(case, run):
    """Assert that a model returns the results of a case; run: takes the inputs, and returns the outputs."""
    for inputs, outputs in case.data_sets:
        found = run([as_array(one) for one in inputs])
        assert len(found) == len(outputs), case.name
        for result, value in zip(found, outputs, strict=True):
            expected = as_array(value)
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape), case.name
            if result.dtype.kind not in "fcV":
                np.testing.assert_array_equal(result, expected, case.name)
                continue
            ulps = {"bfloat16": 2**-6, "float16": 2**-9 * (case.name in ROUNDED_ELSEWHERE)}  # two of them
            rtol = max(case.rtol, ulps.get(result.dtype.name, 0))
            wide = np.complex128 if result.dtype.kind == "c" else np.float64
            np.testing.assert_allclose(result.astype(wide), expected.astype(wide), rtol, case.atol, err_msg=case.name)
