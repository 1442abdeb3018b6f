"""Primitives of the map engine that are no part of the package: any function, and what Where would be."""

import math

from ep import DeviceManagerRegistry, DeviceType
from ep.common.checks import as_dims
from ep.common.primitive.broadcast import broadcast_dims
from ep.common.primitive.signature import Signature, reads, writes
from ep.cpu.engine.map.plan import broadcast_plan
from ep.cpu.engine.map.state import MAP_STATE
from ep.cpu.primitive.cpu_primitive import PlannedPrimitive
from ep.include import DataType
from ep.include.primitive import Where
from ep.include.primitive.primitive import Request


def stream():
    return DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()


class Mapped(PlannedPrimitive):
    """dst = f(operands) with NumPy's broadcasting; `functions()` gives the RowFunctions, where Numba is imported."""

    state_layout = MAP_STATE

    def __init__(self, name, functions, src_types, dst_type):
        sources = [f"src{k}" for k in range(len(src_types))]
        self.signature = Signature(
            (
                *(reads(source, k, f"{source}_count") for k, source in enumerate(sources)),
                writes("dst", len(sources), "dst_count", in_place=True),
            ),
            sizes=(*(f"{source}_count" for source in sources), "dst_count"),
        )
        self._name, self._functions = name, functions
        super().__init__(Request(Mapped, None, (*src_types, dst_type), 8))

    def _compile(self):
        from ep.cpu.engine.map.entry import walk_entry
        from ep.cpu.engine.map.rows import row_kernel

        kernel = row_kernel(f"test.{self._name}", self._functions())
        return walk_entry(f"test.{len(self.signature.operands)}", self.signature, self._state, kernel)

    def Launch(self, stream, operand_dims, sources, dst):
        self._launch_planned(
            stream,
            operand_dims,
            [math.prod(dims) for dims in (*operand_dims, broadcast_dims(*operand_dims))],
            (*sources, dst),
            lambda: broadcast_plan(self.signature, operand_dims, self._types),
        )


class WhereImpl(PlannedPrimitive, Where):
    """A whole primitive: what Where takes on the CPU, but for plain numbers as operands."""

    signature = Signature(
        (
            reads("cond", 0, "cond_count"),
            reads("x", 1, "x_count"),
            reads("y", 1, "y_count"),
            writes("z", 1, "z_count", in_place=True),
        ),
        sizes=("cond_count", "x_count", "y_count", "z_count"),
    )
    state_layout = MAP_STATE

    def _compile(self):
        from ep.cpu.engine.map.entry import walk_entry
        from ep.cpu.engine.map.rows import RowFunctions, row_kernel
        from ep.cpu.kernels.functors import attribute_reader, jit, loader, storer

        cond_type, data_type = self.request.dtypes
        choose = jit(lambda cond, x, y: x if cond != 0 else y)
        loads = loader(cond_type), loader(data_type), loader(data_type)
        functions = RowFunctions(loads, choose, storer(data_type), attribute_reader(0, None))
        kernel = row_kernel(f"where.{cond_type.name}.{data_type.name}", functions)
        return walk_entry("where", self.signature, self._state, kernel)

    def Launch(self, stream, cond_dims, cond, x_dims, x, y_dims, y, z):
        dims = cond_dims, x_dims, y_dims
        plan = self._plans.get(dims)
        if plan is None or self._entry(self._words, plan.words, dims, cond, x, y, z):
            names = "cond_dims", "x_dims", "y_dims"
            dims = tuple(as_dims(each, name, self.request.max_num_dims) for each, name in zip(dims, names, strict=True))
            sizes = [math.prod(each) for each in (*dims, broadcast_dims(*dims, names=names))]
            self._launch_planned(
                stream, dims, sizes, (cond, x, y, z), lambda: broadcast_plan(self.signature, dims, self._types)
            )


def where(cond_type=DataType.kBool, data_type=DataType.kFloat):
    return WhereImpl(Request(Where, None, (cond_type, data_type), 8))
