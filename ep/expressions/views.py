"""Values that are not written: their readers read the elements in place, in another order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ep.common.arrays.index_types import resolved_type
from ep.common.primitive.broadcast import Dims
from ep.expressions.group import Indices, Range, Strided
from ep.expressions.trace import Node
from ep.include.data_type import as_data_type
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.structure import ChoiceOp, SegmentSum
from ep.ops.declare.operator import operator_named


class _Places:
    """The elements of an array that form a value. ranges: for each axis of the array, the selected range.
    axes: for each axis of the value, the axis of the array; None if elements repeat, or there is one element.
    """

    def __init__(self, shape: Dims) -> None:
        """Return the selection of a whole array."""
        self.ranges = [range(size) for size in shape]
        self.axes: list[int | None] = [*range(len(shape))]
        self._array_shape = self._shape = shape

    def after(self, node: Node) -> _Places:
        """Return the selection of a view of this value."""
        made = _Places(self._array_shape)
        made.ranges, made.axes, made._shape = [*self.ranges], [*self.axes], node.shape
        name, given = node.name, node.attributes
        if name == "slice":
            for axis, some in zip(self.axes, given["ranges"], strict=True):
                if axis is not None:
                    made.ranges[axis] = made.ranges[axis][some.start : some.stop : some.step]
        elif name == "permute":
            made.axes = [self.axes[axis] for axis in given["axes"]]
        elif name == "expand":
            new = len(node.shape) - len(self.axes)
            sizes = zip(self.axes, self._shape, node.shape[new:], strict=True)
            kept = [axis if size == wanted else None for axis, size, wanted in sizes]
            made.axes = [*[None] * new, *kept]
        else:
            left = [*zip(self.axes, self._shape, strict=True)]
            made.axes = []
            for size in node.shape:
                while left and left[0][1] == 1 != size:
                    del left[0]
                made.axes.append(left.pop(0)[0] if left and left[0][1] == size else None)
        return made

    def view(self) -> Strided:
        """Return the arguments of `Arrays.view`; None for those that change nothing."""
        left = sorted(axis for axis in self.axes if axis is not None)
        index = tuple(
            slice(some.start, some.stop, some.step) if axis in left else some.start
            for axis, some in enumerate(self.ranges)
        )
        axes = tuple(None if axis is None else left.index(axis) for axis in self.axes)
        dims = tuple(1 if axis is None else len(self.ranges[axis]) for axis in self.axes)
        return Strided(
            None if index == tuple(slice(0, size, 1) for size in self._array_shape) else index,
            None if axes == tuple(range(len(left))) else axes,
            None if dims == self._shape else self._shape,
        )


def operands_of_gather(node: Node, nodes: Sequence[Node]) -> tuple[Strided, Indices]:
    """Return how a kernel reads the operands of a gather: the gathered axis first, then the axes of the result, of
    which each operand has some."""
    params, indices = (nodes[one].shape for one in node.inputs)
    axis, batch = node.attributes["axis"], node.attributes["batch_dims"]
    new, rest = len(indices) - batch, len(params) - axis - 1
    shape = (*indices[:batch], *[1] * (axis - batch), *indices[batch:], *[1] * rest)
    return _by_rows(params, axis, new), read_indices(node, nodes)._replace(shape=shape)


def _by_rows(shape: Dims, axis: int, new: int) -> Strided:
    """Return a view with an axis first, in place of which there are `new` axes of one element."""
    axes = (axis, *range(axis), *[None] * new, *range(axis + 1, len(shape)))
    return Strided(None, axes if axis else None, None)


def padded_axes(node: Node) -> list[int]:
    """Return the axes to which a pad adds elements, or of which it removes some."""
    widths = zip(node.attributes["before"], node.attributes["after"], strict=True)
    return [axis for axis, width in enumerate(widths) if any(width)]


def operands_of_pad(node: Node, nodes: Sequence[Node]) -> tuple[Strided, Range]:
    """Return how a kernel reads the operand of a pad along one axis, and which rows; those outside of it are zeros."""
    (axis,), before = padded_axes(node), node.attributes["before"]
    begin = -before[axis]
    shape = (node.shape[axis], *[1] * (len(node.shape) - axis - 1))
    return _by_rows(nodes[node.inputs[0]].shape, axis, 1), Range(begin, begin + node.shape[axis], shape)


def read_indices(node: Node, nodes: Sequence[Node]) -> Indices:
    """Return how a kernel reads the indices of a gather or of a sum of segments, as they are."""
    indices, given = nodes[node.inputs[1]], node.attributes
    size, mode = given.get("size", 0), given.get("mode", "zero")
    data_type = as_data_type(resolved_type(indices.data_type.dtype, size, mode))
    return Indices(size, mode, indices.shape, data_type)


def with_views(
    nodes: Sequence[Node], wanted: set[int], results: set[int], in_kernel: Callable[[Node], bool]
) -> tuple[list[Node], dict[int, Strided]]:
    """Return the required values, and the views that only kernels read, by position.

    A view of a view becomes a view of the original array: it gets another input. Parts of a split become slices.

    wanted: the positions of the required values. in_kernel: whether a kernel may compute a value.
    """
    found, views, places = [*nodes], dict[int, Strided](), dict[int, _Places]()
    for node in _views_among(nodes, wanted, results, in_kernel):
        (source,) = node.inputs
        if node.name == "split":
            node = found[node.position] = _as_slice(node, nodes)
        before = places.get(source) or _Places(nodes[source].shape)
        places[node.position] = before.after(node)
        views[node.position] = places[node.position].view()
        if source in views:
            found[node.position] = node._replace(inputs=found[source].inputs)
    return found, views


def _views_among(
    nodes: Sequence[Node], wanted: set[int], results: set[int], in_kernel: Callable[[Node], bool]
) -> list[Node]:
    views = []
    only_kernels = wanted - results  # as far as is known
    for node in reversed(nodes):
        if node.name == "split":  # a launch writes all parts
            first, last = node.position - node.result, node.position + len(node.attributes["sections"]) - node.result
            parts = wanted.intersection(range(first, last))
            is_view = node.position in parts <= only_kernels
        else:
            is_view = node.position in only_kernels
        if is_view and _can_be(node, nodes):
            views.append(node)
        elif node.position in wanted and not in_kernel(node):
            only_kernels = only_kernels.difference(node.inputs)
        elif node.position in wanted and node.joins in (ChoiceOp, SegmentSum):
            only_kernels = only_kernels.difference(node.inputs[1:])  # indices are checked before the kernel
    return views[::-1]


def _can_be(node: Node, nodes: Sequence[Node]) -> bool:
    """Return whether reading a view takes no longer than a copy of its elements and reading this copy."""
    if not node.inputs or not 0 < len(node.shape) <= kMaxNumDims:
        return False
    source = nodes[node.inputs[0]]
    if source.shape == () or source.constant is not None:
        return False
    if node.operator is None:  # a reshape that only changes axes of one element, for example after an integer index
        sizes, wanted = ([size for size in shape if size != 1] for shape in (source.shape, node.shape))
        return sizes == wanted
    if node.name == "permute":  # if rows do not stay rows, each element is in a different cache line
        return bool(node.attributes["axes"][-1] == len(node.shape) - 1)
    return node.name in ("slice", "expand", "split")


def _as_slice(node: Node, nodes: Sequence[Node]) -> Node:
    """Return a part of a split as a slice of what is split."""
    ranges = [range(size) for size in nodes[node.inputs[0]].shape]
    ranges[node.attributes["axis"]] = range(*node.attributes["sections"][node.result])
    attributes = {"ranges": tuple(ranges), "strided": False}
    return node._replace(operator=operator_named("slice"), attributes=attributes, result=0)
