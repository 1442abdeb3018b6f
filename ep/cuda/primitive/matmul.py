"""Matmul on CUDA: a BatchMatmul of one batch."""

from __future__ import annotations

from ep.common.primitive.keys import MATMUL
from ep.cuda.primitive.batch_matmul import CudaMatmul
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.matmul import Matmul, MatmulFactory


@implements(MatmulFactory, on=DeviceType.kCUDA, keys=MATMUL)
class MatmulImpl(CudaMatmul, Matmul):
    pass
