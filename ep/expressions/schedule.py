"""From a trace to kernels: which values are computed together, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from ep.expressions.trace import Node, Trace
from ep.include.arrays import Arrays
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType
from ep.include.primitive import ExpressionFactory, NewPrimitive
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.expression import Constant, Step, Structure, kMaxOperands
from ep.include.primitive.op_row import Gives
from ep.include.primitive.op_table import OPS
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.unary_op import UnaryOp
from ep.ops.names import function_name, parameter_name

_MOST_VALUES: Final = 40  # of one kernel: more would not stay in registers, and take long to compile
_MOST_SOURCES: Final = kMaxOperands - _MOST_VALUES

_MAPS: Final[dict[str, UnaryOp | BinaryOp | None]] = {
    **{function_name(op): op for op in (*UnaryOp, *BinaryOp)},
    "cast": UnaryOp.kCast,
    "where": None,
}
"""The op of each operator that computes element by element; None is Where."""


@dataclass
class Group:
    """Values that one kernel computes, or the results of one operator.

    values: positions. sources: of what is read. results: positions of what is written.
    structure: of a kernel. why: values are not computed with others; empty for a kernel.
    """

    values: list[int]
    sources: list[int] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    structure: Structure | None = None
    why: str = ""


class Schedule:
    """The steps of a trace.

    groups: in order. last_read: of each value, the last group that reads it or a view of it; of a result, and of what a
        result is a view of, the number of groups.
    """

    def __init__(self, trace: Trace, results: Iterable[int], round_each: bool) -> None:
        """results: positions of the values that are wanted."""
        self.nodes, self.results = trace.nodes, list(dict.fromkeys(results))
        self._round_each = round_each
        base = trace.base
        fuses = isinstance(base, Arrays) and _has_expressions(base.device_type)
        self._why_not = "" if fuses else f"{base.place} has no Expression: operators are computed one by one"
        self._wanted = self._needed()
        self.groups = self._grouped()
        elsewhere = self._read_elsewhere()
        for group in self.groups:
            self._complete(group, elsewhere)
        self.last_read = self._last_read()

    def _needed(self) -> set[int]:
        """The values that results depend on."""
        needed, todo = set(self.results), list(self.results)
        while todo:
            for position in self.nodes[todo.pop()].inputs:
                if position not in needed:
                    needed.add(position)
                    todo.append(position)
        return needed

    def _last_read(self) -> dict[int, int]:
        found = dict.fromkeys(self.results, len(self.groups))
        for k, group in reversed([*enumerate(self.groups)]):
            last = found.get(group.values[0], k) if self.is_view(group) else k
            for source in group.sources:
                found[source] = max(found.get(source, k), last)
        return found

    def is_view(self, group: Group) -> bool:
        """Whether a group is a reshape, whose result may be the memory of what it reads."""
        return self.nodes[group.values[0]].operator is None

    def why_alone(self, node: Node) -> str:
        """Why a value is not part of a map kernel; empty where it is."""
        if node.operator is None:
            return "a reshape is a view"
        if node.operator.name not in _MAPS:
            return f"{node.operator.name} is no map: no kernel joins it yet"
        if len(node.shape) > kMaxNumDims:
            return f"it has more than {kMaxNumDims} axes"
        return self._why_not

    def _grouped(self) -> list[Group]:
        stages: dict[int, int] = {}
        maps: dict[tuple[int, Any], Group] = {}
        alone: dict[int, list[Group]] = {}
        calls: dict[int, Group] = {}  # of operators with several results, by the first
        of: dict[int, Group] = {}
        read: dict[int, set[int]] = {}
        for node in self.nodes:
            if node.position not in self._wanted or not node.inputs:
                continue
            why = self.why_alone(node)
            inputs = [stages.get(one, -1) for one in node.inputs]
            if why:
                stages[node.position] = max(0, *inputs)
                call = calls.get(node.position - node.result)
                if call is None:
                    call = calls[node.position - node.result] = Group([], why=why)
                    alone.setdefault(stages[node.position], []).append(call)
                call.values.append(node.position)
                continue
            stage = 0
            for one, of_one in zip(node.inputs, inputs, strict=True):
                joins = one in of and self.nodes[one].shape == node.shape
                stage = max(stage, of_one + (not joins))
            while True:
                group = maps.setdefault((stage, node.shape), Group([]))
                sources = read.setdefault(id(group), set())
                more = sources | {one for one in node.inputs if one not in of or of[one] is not group}
                if not group.values or (len(group.values) < _MOST_VALUES and len(more) <= _MOST_SOURCES):
                    break
                stage += 1
            group.values.append(node.position)
            of[node.position], stages[node.position] = group, stage
            sources |= more
        ordered: list[Group] = []
        for stage in range(max(stages.values(), default=-1) + 1):
            ordered += [group for (at, _), group in maps.items() if at == stage]
            ordered += alone.get(stage, [])
        return ordered

    def _read_elsewhere(self) -> set[int]:
        """The values that other groups read than those that they are of, and those that are wanted."""
        of = {value: k for k, group in enumerate(self.groups) for value in group.values}
        read = ((one, k) for value, k in of.items() for one in self.nodes[value].inputs)
        return {one for one, k in read if of.get(one) != k} | set(self.results)

    def _complete(self, group: Group, elsewhere: set[int]) -> None:
        """Find what a group reads and writes, and the structure of a kernel; elsewhere: values that are read there."""
        inside = set(group.values)
        group.sources = list(
            dict.fromkeys(one for value in group.values for one in self.nodes[value].inputs if one not in inside)
        )
        if group.why:
            group.results = group.values
            return
        group.results = [value for value in group.values if value in elsewhere]
        constants = [one for one in group.sources if self.nodes[one].constant is not None]
        group.sources = [one for one in group.sources if self.nodes[one].constant is None]
        group.structure = self._structure(group, constants)

    def _structure(self, group: Group, constants: Sequence[int]) -> Structure:
        numbers = {one: k for k, one in enumerate((*group.sources, *constants))}
        steps: list[Step] = []
        unrounded: dict[int, int] = {}  # the rounded value of each, -1 where there is none yet

        def add(step: Step) -> int:
            steps.append(step)
            return len(group.sources) + len(constants) + len(steps) - 1

        def rounded(value: int, data_type: DataType) -> int:
            if value in unrounded and unrounded[value] < 0:
                unrounded[value] = add(Step(UnaryOp.kCast, (value,), data_type))
            return unrounded.get(value, value)

        for position in group.values:
            node = self.nodes[position]
            assert node.operator is not None
            op = _MAPS[node.operator.name]
            operands = [numbers[one] for one in node.inputs]
            if op is UnaryOp.kCast or (op is not None and OPS[op].gives is Gives.BOOLEAN):
                read = [self.nodes[one].data_type for one in node.inputs]
                operands = [rounded(one, data_type) for one, data_type in zip(operands, read, strict=True)]
            row = () if op in (None, UnaryOp.kCast) else OPS[op].attributes
            attributes = tuple(node.attributes[parameter_name(one)] for one in row)
            is_half = node.data_type in (DataType.kFloat16, DataType.kBFloat16)
            exact = not is_half or self._round_each or op is UnaryOp.kCast
            number = numbers[position] = add(Step(op, tuple(operands), node.data_type, attributes, exact))
            if not exact:
                unrounded[number] = -1
        results = tuple(numbers[one] for one in group.results)
        types = tuple(self.nodes[one].data_type for one in group.sources)
        kept = tuple(Constant(self.nodes[one].data_type, self.nodes[one].constant or b"") for one in constants)
        return Structure(types, kept, tuple(steps), results)

    def explain(self) -> str:
        """Return what each step computes, in words."""
        lines = []
        for k, group in enumerate(self.groups):
            names = [_name(self.nodes[one]) for one in group.values]
            read, written = (sum(_bytes(self.nodes[one]) for one in some) for some in (group.sources, group.results))
            kind = "operator" if group.why else "map kernel"
            lines.append(f"{k}: {kind} of {' '.join(names)}; reads {read} bytes, writes {written}")
            if group.why:
                lines.append(f"   alone: {group.why}")
            for source in group.sources:
                node = self.nodes[source]
                if not group.why and node.operator is not None and not self.why_alone(node):
                    same = node.shape == self.nodes[group.values[0]].shape
                    reason = "the kernel before is full, or waits for less" if same else f"its shape is {node.shape}"
                    lines.append(f"   cut before {_name(node)}: {reason}")
        return "\n".join(lines)


def _name(node: Node) -> str:
    return node.operator.name if node.operator is not None else "reshape" if node.inputs else "given"


def _bytes(node: Node) -> int:
    size = node.data_type.itemsize
    for one in node.shape:
        size *= one
    return size


@cache
def _has_expressions(device_type: DeviceType) -> bool:
    of_nothing = Structure((DataType.kFloat,), (), (Step(UnaryOp.kNegative, (0,), DataType.kFloat),), (1,))
    return NewPrimitive(ExpressionFactory, device_type, of_nothing) is not None
