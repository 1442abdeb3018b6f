"""TreeEnsemble on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import TREE_ENSEMBLE
from ep.common.primitive.tree_nodes import as_tree_sizes
from ep.cpu.engine.form import Launcher
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request
from ep.include.primitive.tree_ensemble import TreeEnsemble, TreeEnsembleFactory


@implements(TreeEnsembleFactory, on=DeviceType.kCPU, keys=TREE_ENSEMBLE)
class TreeEnsembleImpl(CpuPrimitive, TreeEnsemble):
    signature = signatures.TREE_ENSEMBLE

    def _data_types(self, request: Request) -> Any:
        return self.signature.data_types((*(request.dtypes or ()), DataType.kInt32))

    def _compile(self) -> Launcher:
        from ep.cpu.kernels.tree_ensemble import tree_launcher

        return tree_launcher(self._state, self.request.op, self._types[0])  # type: ignore[arg-type]

    def _checked_numbers(self, *numbers: Any) -> tuple[int, ...]:
        return as_tree_sizes(self._types[0], *numbers)

    def _launch_numbers(self, stream: Any, numbers: tuple[int, ...], buffers: Sequence[Any]) -> None:
        *_, num_out = counts = self.signature.counts(numbers)
        buffers = self._checked(stream, buffers, counts)
        if num_out and not numbers[-1]:  # there are no trees
            self._fill(stream, buffers[-1], 0, num_out)
        elif num_out:
            self._run(stream, None, *numbers, *buffers)
