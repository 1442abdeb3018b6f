"""ONNX's types as dtypes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from onnx import TensorProto, helper

from ep.include.data_type import DataType

_DTYPES: Final = {one.dtype for one in DataType}


def dtype_of(number: int) -> np.dtype[Any]:
    """Return the dtype of one of ONNX's types; NotImplementedError for a type that `ep.DataType` lacks."""
    try:
        dtype = helper.tensor_dtype_to_np_dtype(number)
    except KeyError:
        raise NotImplementedError(f"there is no type {number}") from None
    if dtype not in _DTYPES:
        raise NotImplementedError(f"type {TensorProto.DataType.Name(number)} is not a DataType")
    return dtype
