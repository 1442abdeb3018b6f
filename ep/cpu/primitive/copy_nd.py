"""CopyNd on the CPU: the move engine, over a box of either array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.common.primitive.keys import COPY_ND
from ep.cpu.engine.launchable import launched
from ep.cpu.primitive.region_primitive import RegionPrimitive
from ep.include.data_type import DTypeLike
from ep.include.device_type import DeviceType
from ep.include.primitive.copy_nd import CopyNd, CopyNdFactory
from ep.include.primitive.implements import implements
from ep.include.stream import Stream


@implements(CopyNdFactory, on=DeviceType.kCPU, keys=COPY_ND)
class CopyNdImpl(RegionPrimitive, CopyNd):
    @launched
    def Launch(
        self,
        stream: Stream,
        data_type: DTypeLike,
        dst: Any,
        dst_dims: Sequence[int],
        dst_pos: Sequence[int],
        src: Any,
        src_dims: Sequence[int],
        src_pos: Sequence[int],
        extent: Sequence[int],
    ) -> None:
        dims = dst_dims, dst_pos, src_dims, src_pos, extent
        self._launch_by_dims(stream, dims, (dst, src), (data_type,))
