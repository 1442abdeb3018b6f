"""TreeEnsemble on CUDA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import TREE_ENSEMBLE
from ep.common.primitive.tree_nodes import as_tree_sizes
from ep.cuda.device.stream import check_stream
from ep.cuda.primitive.cuda_primitive import CudaPrimitive
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request
from ep.include.primitive.tree_ensemble import TreeEnsemble, TreeEnsembleFactory


@implements(TreeEnsembleFactory, on=DeviceType.kCUDA, keys=TREE_ENSEMBLE)
class TreeEnsembleImpl(CudaPrimitive, TreeEnsemble):
    signature = signatures.TREE_ENSEMBLE

    def _data_types(self, request: Request) -> Sequence[DataType]:
        return (*(request.dtypes or ()), DataType.kInt32)

    def _kernel(self, variant: Any) -> Any:
        from ep.cuda.kernels.tree_ensemble import kernel

        return kernel(self.request.op, self._types[0])

    def _usual_variant(self) -> None:
        """There is one kernel."""

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *_: Any) -> None:
        stream, checked = check_stream(stream), as_tree_sizes(self._types[0], *sizes)
        x, nodes, roots, out = self._read(stream, buffers, self.signature.counts(checked))
        num_rows, num_targets = checked[0], checked[2]
        if num_rows and num_targets:
            self._queue(stream, None, num_rows, x, nodes, roots, out, *checked)
