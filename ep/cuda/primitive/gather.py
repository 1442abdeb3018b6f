"""Gather on CUDA."""

from __future__ import annotations

from typing import Any

from ep.common.primitive.keys import GATHER
from ep.cuda.launch.known import launched
from ep.cuda.primitive.gather_primitive import GatherPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.gather import Gather, GatherFactory
from ep.include.primitive.implements import implements
from ep.include.stream import Stream


@implements(GatherFactory, on=DeviceType.kCUDA, keys=GATHER)
class GatherImpl(GatherPrimitive, Gather):
    @launched
    def Launch(
        self,
        stream: Stream,
        outer_dim_size: int,
        gather_dim_size: int,
        inner_dim_size: int,
        params: Any,
        num_indices: int,
        indices: Any,
        out: Any,
        offset: int = 0,
    ) -> None:
        sizes = 1, outer_dim_size, gather_dim_size, inner_dim_size, num_indices, offset
        self._launch(stream, params, indices, out, sizes)
