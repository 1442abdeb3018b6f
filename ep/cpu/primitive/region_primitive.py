"""The implementation of CopyNd on the CPU: the move engine, over a box of either array, or over many adjacent boxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ep.common.checks import as_size
from ep.common.primitive import signatures
from ep.common.primitive.movement import MAX_UNIT
from ep.common.primitive.region_copy import as_box_copy
from ep.cpu.device.buffers import check_stream
from ep.cpu.device.stream import CpuStream, RecordingStream
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.move.column_parts import LARGE, LARGE_BYTES, MOST_PARTS
from ep.cpu.engine.move.link import link
from ep.cpu.engine.move.plan import RegionPlan
from ep.cpu.engine.move.run_writer import run_writers
from ep.cpu.primitive.cpu_primitive import PlannedPrimitive
from ep.include.data_type import DTypeLike, as_data_type
from ep.include.primitive.copy_nd import CopyNd, widths_of
from ep.include.stream import Stream


class RegionPrimitive(PlannedPrimitive, CopyNd):
    """A CopyNd with a separate entry for launches of columns; that of the base class makes one launch for each box."""

    signature = signatures.COPY_ND
    _columns: Callable[..., int] | None = None  # the entry of LaunchColumns, once it is compiled

    def _compile(self) -> Launcher:
        from ep.cpu.engine.move.entry import box_launcher

        return box_launcher(self._state)

    def _compile_variants(self) -> None:
        super()._compile_variants()
        self._compile_writers(run_writers(1, MAX_UNIT))
        self._compile_columns()

    def _compile_columns(self) -> None:
        """Compile the entry of launches of columns, unless that has been done."""
        from ep.cpu.engine.move import columns

        self._start_threads()
        self._columns = partial(columns.columns_entry(), self._words, columns.columns_task())

    def LaunchColumns(
        self,
        stream: Stream,
        data_type: DTypeLike,
        whole: Any,
        rows: int,
        cols: int,
        begin: int,
        parts: Sequence[Any],
        to_parts: bool,
    ) -> None:
        if type(stream) is not CpuStream:  # saves a call of Python where launches are short
            check_stream(stream)
            if isinstance(stream, RecordingStream):  # which notes launches of boxes
                super().LaunchColumns(stream, data_type, whole, rows, cols, begin, parts, to_parts)
                return
        of_type = as_data_type(data_type, "data_type")
        given = tuple(parts)  # another thread could change a list during the launch
        if type(rows) is not int or type(cols) is not int or type(begin) is not int:  # each is converted once
            rows, cols, begin = as_size(rows, "rows"), as_size(cols, "cols"), as_size(begin, "begin")
        if to_parts and len(given) > MOST_PARTS:
            widths_of(rows, cols, begin, given)  # before the first ones are written
        while to_parts and len(given) > MOST_PARTS:  # in order, since they may overlap
            some, given = given[:MOST_PARTS], given[MOST_PARTS:]
            self.LaunchColumns(stream, of_type, whole, rows, cols, begin, some, to_parts)
            begin += sum(part.size for part in some) // rows
        if self._columns is None:
            self._compiling(self._compile_columns)
        assert self._columns is not None
        sizes = of_type.itemsize, rows, cols, begin, bool(to_parts)
        found = self._columns(of_type.dtype, *sizes, whole, given)
        if found == LARGE:
            for part in given:
                if part.nbytes > LARGE_BYTES:
                    super().LaunchColumns(stream, of_type, whole, rows, cols, begin, (part,), to_parts)
                begin += part.size // rows
        elif found:
            super().LaunchColumns(stream, of_type, whole, rows, cols, begin, given, to_parts)

    def _launch_dims(self, stream: Any, dims: Any, buffers: Any, data_type: Any = None) -> None:
        dst_dims, dst_pos, src_dims, src_pos, extent = dims
        box = as_box_copy(dst_dims, dst_pos, src_dims, src_pos, extent, self.request.max_num_dims)
        of_type = as_data_type(data_type, "data_type")
        key = box, types = box, (of_type, of_type)
        plan, make = self._plans.get(key), partial(RegionPlan, self.signature, box, of_type)
        if plan is None and 0 not in box.extent and self._launch_new(stream, key, buffers, make):
            return
        to, of = self._checked(stream, buffers, box.counts(), types=types)
        if 0 in box.extent:
            return
        apart: int = to.ctypes.data - of.ctypes.data
        lie_between = box.check_overlap(apart, of_type.itemsize)
        if plan is None or (lie_between and plan.apart != apart):
            plan = make(apart if lie_between else None)
            link(plan)
            self._plans.put(key, plan)
            self._forget()  # the plan of the previous launch
        self._run(stream, plan, to, of)
