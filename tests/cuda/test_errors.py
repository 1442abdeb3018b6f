"""Errors of the driver after they leave the process that raised them: pickles and copies."""

import copy
import pickle

import pytest

from ep.cuda.driver.interface import CudaError


@pytest.mark.parametrize("again", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy], ids=["pickle", "copy"])
def test_an_error_is_the_same_elsewhere(again):
    error = CudaError("cuStreamSynchronize", 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access")
    same = again(error)
    assert type(same) is CudaError
    assert str(same) == "cuStreamSynchronize: an illegal memory access (CUDA_ERROR_ILLEGAL_ADDRESS, error 700)"
    assert (same.code, same.name) == (700, "CUDA_ERROR_ILLEGAL_ADDRESS")
