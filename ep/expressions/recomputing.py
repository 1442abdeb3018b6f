"""Maps that the kernel which reads them computes itself, again or in place of another one: less is written and read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Final

from ep.expressions.group import Group
from ep.expressions.operators import CHOICES, MAPS
from ep.expressions.trace import Node
from ep.include.primitive.op_definition import Cost
from ep.include.primitive.op_table import OPS
from ep.include.primitive.structure import Convolution, MatrixProduct, MaxPool
from ep.include.primitive.where import Where

_WHOLE: Final = *CHOICES, MatrixProduct, Convolution, MaxPool
"""The operators of a kernel that read more than an element, or a row, at a time: what they read is in memory."""


def move_to_readers(nodes: Sequence[Node], groups: Sequence[Group], results: Set[int]) -> list[Group]:
    """Give kernels the maps that only they read; return the groups that have values left, in order.

    A map is in the first kernel that may compute it, for all its readers. Where only a later one reads it, that one
    computes it: also a second time, if all that is computed twice is light, and no more arrays are read than have been
    written. groups: in order. results: the positions of values that are written in any case.
    """
    moving = _Moving(nodes, groups, results)
    for group in reversed(groups):
        while moving.moves_to(group):
            pass
    return [group for group in groups if group.values]


class _Moving:
    """The groups of values, and which groups read each value from others."""

    def __init__(self, nodes: Sequence[Node], groups: Sequence[Group], results: Set[int]) -> None:
        self._nodes, self._results = nodes, results
        self._of = {value: group for group in groups for value in group.values}
        self._readers: dict[int, set[int]] = {}  # ids of groups
        for group in groups:
            self._note(group)

    def _inputs(self, values: Iterable[int]) -> set[int]:
        return {one for value in values for one in self._nodes[value].inputs}

    def _note(self, group: Group) -> None:
        for one in self._inputs(group.values).difference(group.values):
            self._readers.setdefault(one, set()).add(id(group))

    def moves_to(self, group: Group) -> bool:
        """Move maps from one earlier kernel to a later one, if any can be."""
        if not _is_kernel(group):
            return False
        read = self._inputs(group.values).difference(group.values)
        sources = {id(self._of[one]): self._of[one] for one in sorted(read) if one in self._of}
        return any(self._moves(before, group, read) for before in sources.values())

    def _moves(self, before: Group, group: Group, read: Set[int]) -> bool:
        """Move the maps of one kernel that a later one reads, if it alone does, and if this saves something."""
        if before.shape != group.shape or not _is_kernel(before) or before.product is not None:
            return False
        written = {one for one in before.values if one in read} - before.reduced - before.again
        if not written or any(one in self._results or self._readers[one] != {id(group)} for one in written):
            return False
        whole = self._inputs(value for value in group.values if self._nodes[value].joins in _WHOLE)
        if not whole.isdisjoint(written):
            return False
        cone, todo = set[int](), [*written]
        while todo:
            value = todo.pop()
            if self._nodes[value].joins not in MAPS:
                return False
            cone.add(value)
            todo += self._inputs([value]).intersection(before.values) - before.reduced - cone
        needed = self._inputs(cone) - cone
        rest = self._rest(before, written, needed)
        again, more = cone.intersection(rest), needed - read
        num_read = sum(self._nodes[one].shape == group.shape for one in more)
        if rest and (num_read > len(written) or not all(map(self._is_light, again))):
            return False
        if not group.takes(read - written | needed, len(cone)):
            return False
        for one in self._inputs(before.values):
            self._readers.get(one, set()).discard(id(before))
        for one in written:
            del self._readers[one]
        before.values = rest
        group.values = sorted({*group.values, *cone}, key=lambda value: (value != group.product, value))
        group.again |= again | cone & before.again
        self._of.update(dict.fromkeys(cone - group.again, group))
        self._note(before)
        self._note(group)
        return True

    def _rest(self, before: Group, moved: Set[int], needed: Set[int]) -> list[int]:
        """Return the values of a kernel that are still computed there.

        moved: those that nothing else reads any more. needed: those that the other kernel reads then.
        """
        rest: set[int] = set()
        for value in reversed(before.values):
            is_read = value in self._results or bool(self._readers.get(value))
            if (is_read and value not in moved | before.again) or value in needed or value in self._inputs(rest):
                rest.add(value)
        return sorted(rest)

    def _is_light(self, value: int) -> bool:
        op = self._nodes[value].joins
        return op is Where or OPS[op].cost is Cost.LIGHT


def _is_kernel(group: Group) -> bool:
    """Return whether a group is a kernel of maps, of rows, or of a product."""
    return not group.why and not group.gone and bool(group.values)
