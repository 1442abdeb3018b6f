"""What the four softmaxes on the CPU share: rows that are read several times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ep.common.checks import as_size
from ep.cpu.primitive.cpu_primitive import CpuPrimitive


class RowsPrimitive(CpuPrimitive):
    """A primitive on `[rows, cols]` elements."""

    def _compile(self) -> Callable[..., int]:
        from ep.cpu.kernels.softmax import softmax_entry

        (data_type,) = self.request.dtypes or ()
        return softmax_entry(self.request.interface, self.signature, self._state, data_type)

    def _launch_rows(self, stream: Any, rows: Any, cols: Any, buffers: tuple[Any, ...]) -> None:
        """Check a launch in Python, then do it."""
        self._launch_checked(stream, (as_size(rows, "rows"), as_size(cols, "cols")), (), buffers)
