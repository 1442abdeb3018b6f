"""Launches of every engine by one size, and the sizes at which something changes in what they ask of the driver."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise, product
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import ep
from ep import AllocationOptions, DataType, DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.cuda.compile.launch_config import Grid
from ep.cuda.compile.loader import LoadedKernel
from ep.include.primitive import LogSoftmaxBackwardFactory, LogSoftmaxFactory, SoftmaxBackwardFactory, SoftmaxFactory
from ep.include.primitive.structure import kMaxRow
from tests.fuse.test_rows import layer_norm

ops = ep.ops
Launch = Callable[[Any, int], object]
"""launch(stream, size); on another stream if it is one of operators."""


class Launches:
    """Launches on device 0, of which is found out what they ask for."""

    def __init__(self, launch: Launch) -> None:
        self._device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCUDA, 0)
        self._stream, self._launch, self._kinds = self._device.CreateStream(), launch, dict[int, tuple[Any, ...]]()
        self.sides = set[tuple[bool, bool]]()
        """Whether kernels ask for dynamic shared memory, and whether they need the opt-in."""

    def queue(self, size: int) -> Any:
        """Do the launch."""
        return self._launch(self._stream, size)

    def kind(self, size: int) -> tuple[Any, ...]:
        """Return the kernels of a launch, which are not queued, and their sides of the limits."""
        if size not in self._kinds:
            free, kinds = self._device.properties.shared_bytes_without_opt_in, []

            def record(kernel: LoadedKernel, stream: Any, extent: Any, *words: int) -> None:
                grid = extent if isinstance(extent, Grid) else Grid((1, 1, 1))
                sides = grid.shared_bytes > 0, kernel.static_shared + grid.shared_bytes > free
                kinds.append((kernel, grid.threads, *sides))
                self.sides.add(sides)

            with patch.multiple(LoadedKernel, launch=record, launch_grid=record):
                self.queue(size)
            self._kinds[size] = tuple(kinds)
        return self._kinds[size]

    def borders(self, sizes: Sequence[int]) -> list[int]:
        """Return the sizes on both sides of each change, but for kinds of few sizes."""
        last, found = len(sizes) - 1, []
        coarse = sorted({round(last * (k / 40) ** 2) for k in range(41)})

        def find(low: int, high: int) -> None:
            if high - low == 1 and self.kind(sizes[low]) != self.kind(sizes[high]):
                found.extend((sizes[low], sizes[high]))
            elif self.kind(sizes[low]) != self.kind(sizes[high]):
                find(low, (low + high) // 2)
                find((low + high) // 2, high)

        for low, high in pairwise(coarse):
            find(low, high)
        return found


SOFTMAXES = {
    "softmax": (SoftmaxFactory, 1),
    "log_softmax": (LogSoftmaxFactory, 1),
    "softmax_backward": (SoftmaxBackwardFactory, 2),
    "log_softmax_backward": (LogSoftmaxBackwardFactory, 2),
}
"""The factories, and the numbers of operands."""


def softmaxes(name: str, data_type: DataType, rows: int, most: int) -> Launch:
    """Launches by the number of columns, at most `most`, over memory of unknown contents."""
    factory, operands = SOFTMAXES[name]
    primitive = RequirePrimitive(factory, DeviceType.kCUDA, data_type)
    device, size = DeviceManagerRegistry.GetDevice(DeviceType.kCUDA, 0), rows * most * data_type.itemsize
    buffers = [device.Alloc(AllocationOptions(), size).view(data_type) for _ in range(operands + 1)]
    return lambda stream, cols: primitive.Launch(stream, rows, cols, *buffers)


def norm_of_many(*xs: Any) -> Any:
    """A function with so many values of a row that they do not all fit into the shared memory of a block."""
    squares = [x * x for x in xs]
    total = ops.sum(sum(squares[1:], squares[0]), -1, keepdims=True)
    return sum((one * total for one in squares[1:]), squares[0] * total)


def segment_sums(x: Any) -> Any:
    return ops.segment_sum(x, ops.copy_to_device(np.arange(x.shape[0]) % 5, "cuda"), 5)


def products(*xs: Any) -> Any:
    return sum((x * y for x, y in pairwise(xs)), xs[0])


class Case(NamedTuple):
    """A function of arrays. shapes: those of its arguments, by a size; most: the largest size to look at."""

    function: Callable[..., Any]
    shapes: Callable[[int], Sequence[tuple[int, ...]]]
    most: int

    def call(self, size: int, make: Callable[[tuple[int, ...]], Any]) -> Any:
        """Return the result for arrays of the host that `make` makes, by their shapes."""
        return self.function(*(ops.copy_to_device(make(shape), "cuda") for shape in self.shapes(size)))

    def launch(self, dtype: Any) -> Launch:
        """Launches for arrays of zeros, on the stream of the operators."""
        return lambda stream, size: self.call(size, lambda shape: np.zeros(shape, dtype))


ROWS = {
    "doubled softmax": Case(ep.fuse(lambda x: ops.softmax(x + x)), lambda cols: [(3, cols)], kMaxRow),
    "layer norm": Case(ep.fuse(layer_norm), lambda cols: [(3, cols), (cols,), (cols,)], kMaxRow),
    "norm of many": Case(ep.fuse(norm_of_many), lambda cols: [(3, cols)] * 16, kMaxRow),
}
"""Functions of rows, each one kernel, by the number of columns."""

OTHERS = {
    "sums of rows": Case(lambda x: ops.sum(x, -1), lambda size: [(7, size)], 2**15),
    "sum of all": Case(ops.sum, lambda size: [(size,)], 2**18),
    "sums of columns": Case(lambda x: ops.sum(x, 0), lambda size: [(size, 24)], 2**13),
    "sums of many columns": Case(lambda x: ops.sum(x, 0), lambda size: [(40, size)], 2**13),
    "transposes": Case(ops.transpose, lambda size: [(131, size)], 2**10),
    "segment sums": Case(segment_sums, lambda size: [(size, 4)], 2**14),
    "products": Case(ep.fuse(products), lambda size: [(size,)] * 12, 2**14),
}
"""Functions that need static shared memory alone, or many registers."""

FLOATS = [DataType.kFloat, DataType.kDouble, DataType.kFloat16, DataType.kBFloat16]
WITHOUT, OPT_IN, NONE = (True, False), (True, True), (False, False)
"""Values of `Launches.sides`: dynamic shared memory without and with the opt-in, and no dynamic one."""


class Walk(NamedTuple):
    """Launches to look at. make: makes them; sides: those that some must be on."""

    make: Callable[[], Launch]
    sizes: range
    sides: set[tuple[bool, bool]]


def _walks() -> Iterator[tuple[str, Walk]]:
    """Yield walks over the sizes around the limits of an H200, with packs and, for odd sizes, without."""
    for (name, (_, operands)), data_type in product(SOFTMAXES.items(), FLOATS):
        pack = 16 // data_type.itemsize
        for first in (1040, 1041):  # many rows, which are kept, or read again if they are long
            make = partial(softmaxes, name, data_type, 300, 120_000)
            yield f"{name} {data_type.name} {first}", Walk(make, range(first, 120_000, pack), {WITHOUT, OPT_IN, NONE})
        around = 2**18 // data_type.itemsize // operands  # from here on, a few rows are divided into parts
        make = partial(softmaxes, name, data_type, 2, 2 * around)
        yield f"parts of {name} {data_type.name}", Walk(make, range(around // 2, 2 * around, pack), {NONE})
    for (name, case), dtype in product(ROWS.items(), ("float32", "float64", "float16")):
        sides = {OPT_IN, NONE} if name == "norm of many" else set()
        for first in (1040, 1041):
            yield f"{name} {dtype} {first}", Walk(partial(case.launch, dtype), range(first, case.most, 8), sides)
    for (name, case), dtype in product(OTHERS.items(), ("int8", "float32", "complex128")):
        yield f"{name} {dtype}", Walk(partial(case.launch, dtype), range(1, case.most), {NONE})


WALKS = dict(_walks())
