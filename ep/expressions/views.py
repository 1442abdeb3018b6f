"""Values that need not be written: kernels read the elements where they are, with other strides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ep.expressions.trace import Node
from ep.include.primitive.primitive import kMaxNumDims


class View(NamedTuple):
    """What `Arrays.view` takes."""

    box: tuple[slice, ...] | None = None
    axes: tuple[int, ...] | None = None
    shape: tuple[int, ...] | None = None


_VIEWS: Final[Mapping[str, Callable[[Mapping[str, Any]], View]]] = {
    "slice": lambda given: View(box=tuple(slice(one.start, one.stop, one.step) for one in given["ranges"])),
    "permute": lambda given: View(axes=given["axes"]),
    "expand": lambda given: View(shape=given["sizes"]),
}


def view_of(node: Node) -> View:
    """Return the view that an operator's value is."""
    assert node.operator is not None
    return _VIEWS[node.operator.name](node.attributes)


def views_among(
    nodes: Sequence[Node], wanted: set[int], results: set[int], in_kernel: Callable[[Node], bool]
) -> set[int]:
    """Return the positions of operators' values that are views: no one but kernels reads them.

    wanted: positions of values that are computed. in_kernel: whether a kernel may compute a value.
    """
    views: set[int] = set()
    only_kernels = wanted - results  # as far as is known
    for node in reversed(nodes):
        if node.position in only_kernels and _can_be(node, nodes):
            views.add(node.position)
        elif node.position in wanted and not in_kernel(node):
            only_kernels = only_kernels.difference(node.inputs)
    return views


def _can_be(node: Node, nodes: Sequence[Node]) -> bool:
    """Whether reading a view takes no longer than writing its elements first, and reading these."""
    name = node.operator.name if node.operator is not None else ""
    if name not in _VIEWS or not 0 < len(node.shape) <= kMaxNumDims:
        return False
    source = nodes[node.inputs[0]]
    if source.shape == () or source.constant is not None:
        return False
    # where rows do not stay rows, each element would be in a cache line of its own
    return name != "permute" or node.attributes["axes"][-1] == len(node.shape) - 1
