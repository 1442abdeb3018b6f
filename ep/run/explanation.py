"""The explanation of a plan for users: as text, and as a drawing. All of it follows from the steps."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Hashable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.arrays.host import HostArrays
from ep.common.arrays.index_types import resolved_type
from ep.common.primitive.expression_arrays import ExpressionArrays, ExpressionDims
from ep.include.arrays import Placeholder
from ep.include.device_type import DeviceType
from ep.include.primitive.structure import Step as StructureStep
from ep.include.primitive.structure import Structure
from ep.include.shown import Lines
from ep.run.drawing import MOST_CHARACTERS, Box, page
from ep.run.layers import Edge, longest_paths
from ep.run.loop import view_of
from ep.run.printed import lines_of, names_of
from ep.run.steps import LISTS, VALUES, Call, Check, Converted, Launch, Step, StepOrigin, Temporary, View, uses

_HOST: Final = HostArrays(DeviceType.kCPU, "the host")


class _Likes(dict[Any, "np.ndarray[Any, Any]"]):
    """For each value, and for each constant by its id, an array of its shape and type without memory of its own."""

    def __missing__(self, value: Any) -> np.ndarray[Any, Any]:
        if isinstance(value, View):
            found: Any = view_of(_HOST, self[self.key(value.source)], value)
        elif isinstance(value, Check):
            indices = self[self.key(value.indices)]
            found = _like(indices.shape, resolved_type(indices.dtype, value.size, value.mode))
        elif isinstance(value, Converted):
            found = self[self.key(value.source)]
        else:
            found = _like(value.shape, value.dtype)
        self[value] = found
        return self[value]

    def key(self, value: Any) -> Any:
        """Return what stands for a value or a constant."""
        if isinstance(value, VALUES):
            return value
        if id(value) not in self:
            self[id(value)] = _like(np.shape(value), getattr(value, "dtype", None) or np.asarray(value).dtype)
        return id(value)


def _like(shape: Sequence[int], dtype: Any) -> np.ndarray[Any, Any]:
    return np.broadcast_to(np.empty((), dtype), tuple(shape))


class Part(NamedTuple):
    """A line of the explanation: steps that follow each other and have one origin, or a view, without any.

    read, written: the values that it has from others, and makes for others; constants by their id.
    """

    origin: StepOrigin
    steps: list[Step]
    read: list[Any]
    written: list[Any]

    @property
    def launches(self) -> str:
        """The names of the steps that launch."""
        return ", ".join(step.name for step in self.steps if not isinstance(step, Check))

    @property
    def kernel(self) -> Launch | None:
        """The launch of an Expression that it consists of, unless that is all of an operator."""
        step = self.steps[0] if len(self.steps) == 1 and not self.origin.name else None
        return step if isinstance(step, Launch) and step.structure else None

    @property
    def reasons(self) -> Sequence[Any]:
        """What is to be said of it besides."""
        structure = self.kernel and self.kernel.structure
        if not structure or structure.product is None:
            return self.origin.reasons
        own = structure.steps[0].data_type
        types = dict.fromkeys(one for one in structure.sources[:2] if one is not own)
        converts = (f"converts {one.dtype} to {own.dtype} as it reads the matrices" for one in types)
        return *converts, *self.origin.reasons


class Explanation(Lines):
    """A text with each kernel, its operators, the bytes read and written, and why kernels are separate. It can be
    drawn."""

    _plan: _Explained

    def __new__(
        cls,
        steps: Sequence[Step],
        given: Mapping[Placeholder, Any],
        returned: Sequence[Any] = (),
        names: Mapping[Any, str] | None = None,
    ) -> Explanation:
        """Explain the steps of a plan.

        given: for operands and results, arrays or others with `shape` and `dtype`. returned: the values that are used
        after the last step. names: of operands, and of arrays that are constants, as for `names_of`.
        """
        plan = _Explained(steps, given, returned, names)
        made = super().__new__(cls, "\n".join(plan.lines()))
        made._plan = plan
        return made

    def svg(self) -> str:
        """Return a drawing of the graph as SVG: kernels are boxes around their operators."""
        return page(self._plan.drawn(), str(self))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the drawing to a file, as SVG whatever its name is."""
        Path(path).write_text(self.svg(), encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg()


class _Explained:
    """The parts of a plan, with the shapes, types and names of its values."""

    def __init__(
        self,
        steps: Sequence[Step],
        given: Mapping[Placeholder, Any],
        returned: Sequence[Any],
        names: Mapping[Any, str] | None,
    ) -> None:
        self._likes = _Likes({one: _like(array.shape, array.dtype) for one, array in given.items()})
        self._names, self._uses = names_of(steps, returned, names), uses(steps, returned)
        of_steps = {id(step.origin) for step in steps}
        self._views = dict.fromkeys(
            one for one in self._uses if isinstance(one, View) and one.origin and id(one.origin) not in of_steps
        )
        self._parts = self._parted(steps)
        self._results = [*map(self._source, returned)]

    def _source(self, value: Any) -> Any:
        """Return the operand, temporary value, constant or result of an operator that a value is, or is made of."""
        while isinstance(value, Check | Converted) or (isinstance(value, View) and value not in self._views):
            value = value.indices if isinstance(value, Check) else value.source
        return self._likes.key(value)

    def _parted(self, steps: Sequence[Step]) -> list[Part]:
        parts, views = list[Part](), [*self._views][::-1]
        for number, step in enumerate([*steps, None]):
            before = parts[-1].steps if parts else []
            last = parts.pop() if before and step and step.origin is before[-1].origin else None
            while views and self._uses[views[-1]][0] == number:
                view = views.pop()
                parts.append(Part(view.origin or StepOrigin(), [], [self._source(view.source)], [view]))
            if step is not None:
                parts.append(last or Part(step.origin or StepOrigin(), [], [], []))
                parts[-1].steps.append(step)
        begin = 0
        for part in parts:
            end = begin + len(part.steps)
            for one in dict.fromkeys(self._source(one) for step in part.steps for one in _arguments(step)):
                first, last_use = self._uses.get(one, (-1, -1))
                is_result = isinstance(one, Placeholder) and one.number is None
                if is_result or (isinstance(one, Temporary) and first >= begin):
                    part.written.extend([one] if is_result or last_use >= end else [])
                else:
                    part.read.append(one)
            begin = end
        return parts

    def lines(self) -> Iterator[str]:
        """Yield the lines of the text."""
        before = set[Any]()
        for k, part in enumerate(self._parts):
            yield f"{k}: {self._title(part)}; {self._bytes(part)}"
            yield from (f"   {why}" for why in part.reasons)
            for step in part.steps:
                if isinstance(step, Call) and hasattr(step.function, "explain"):
                    yield from (f"   {line}" for line in step.function.explain().splitlines())
            if ", " in part.launches:
                yield from (f"   {line}" for line in lines_of(part.steps, self._names, before))
            before.update(uses(part.steps))

    def _title(self, part: Part) -> str:
        if not part.steps:
            return f"view of {part.origin.name}"
        if part.kernel is None:
            return f"operator of {part.origin.name}" if part.origin.name else part.launches
        structure, kind = part.kernel.structure, "map"
        if structure.product is not None:
            kind = "product"
        elif structure.has_rows:
            kind = "row" if self._dims(part.kernel).are_rows else "reduce"
        return f"{kind} {part.launches}"

    def _dims(self, kernel: Launch) -> ExpressionDims:
        arrays = [self._likes[self._likes.key(one)] for one in _arguments(kernel)]
        return ExpressionArrays(kernel.structure).dims([one.shape for one in arrays])

    def _bytes(self, part: Part) -> str:
        read = {one: self._likes[one].nbytes for one in part.read}
        written = sum(self._likes[one].nbytes for one in part.written)
        if part.kernel is not None:  # of rows that indices choose, not all are read
            sources, whole = part.kernel.arguments[1], math.prod(self._dims(part.kernel).whole)
            for one in (self._source(sources[number]) for number in part.kernel.structure.chosen):
                read[one] = min(read[one], whole * self._likes[one].itemsize)
        return f"reads {sum(read.values()) if part.steps else 0} bytes, writes {written if part.steps else 0}"

    def drawn(self) -> Box:
        """Return the drawing."""
        boxes, made, edges = dict[Hashable, Box](), dict[Any, tuple[Hashable, float]](), list[Edge]()
        written = {one for part in self._parts for one in part.written}
        read = [one for part in self._parts for one in part.read]
        inputs = [one for one in dict.fromkeys([*read, *self._results]) if one not in written]
        for one in inputs:
            made[one] = ("input", one), 0.0
            boxes["input", one] = Box("array", [(self._name(one), "t"), (self._type(one), "")])
        for k, part in enumerate(self._parts):
            inner = self._kernel(k, part)
            boxes["kernel", k] = inner
            edges += [Edge(made[one][0], ("kernel", k), made[one][1], inner.at["read", one]) for one in part.read]
            made |= {one: (("kernel", k), inner.at["written", one]) for one in part.written}
        for k, one in enumerate(self._results):
            boxes["result", k] = Box("array", [(f"result {k}", "t"), (self._type(one), "")])
            edges.append(Edge(made[one][0], ("result", k), made[one][1]))
        layers = longest_paths(boxes, edges)
        for one in inputs:  # immediately before the first reader
            layers["input", one] = min(layers[edge.end] for edge in edges if edge.start == ("input", one)) - 1
        return Box("page", [], boxes, edges, layers)

    def _kernel(self, k: int, part: Part) -> Box:
        inside, edges = dict[Any, Box](), list[Edge]()
        for one in part.read:
            inside["read", one] = Box("read", [(self._name(one), ""), (self._type(one), "")])
        if part.kernel is None:
            edges += [Edge(one, ("op", 0)) for one in inside]
            types = [(self._type(one), "") for one in part.written[:1]]
            inside["op", 0] = Box("op", [(part.origin.name or part.launches, "t"), *types])
            ends = [(one, 0) for one in part.written]
        else:
            structure, (results, sources) = part.kernel.structure, part.kernel.arguments
            dims, are_reduced = self._dims(part.kernel), structure.are_reduced()
            ends = [*zip(map(self._source, results), structure.results, strict=True)]
            shapes = {value: self._likes[one].shape for one, value in ends}
            for value, step in enumerate(structure.steps, len(are_reduced) - len(structure.steps)):
                shape = shapes.get(value, dims.reduced if are_reduced[value] else dims.whole)
                type_text = f"{step.data_type.dtype} {shape}"
                inside["op", value] = Box("op", [(_operation(structure, step), "t"), (type_text, "")])
                for one in dict.fromkeys(step.operands):
                    start = ("read", self._source(sources[one])) if one < len(sources) else ("op", one)
                    if start in inside:  # constants are part of the name
                        edges.append(Edge(start, ("op", value)))
        layers = longest_paths(inside, edges)
        if part.read:
            layers.update({name: max(layers[name], 1) for name in inside if name[0] == "op"})
        last = max(layers.values()) + 1
        for one, value in ends:
            inside["written", one] = Box("", [])
            layers["written", one] = last
            edges.append(Edge(("op", value), ("written", one)))
        work = f"launches {part.launches}" if ", " in part.launches else ""
        lines = [f"{k}: {self._title(part).partition(' of ')[0]}", self._bytes(part), *_wrapped(work)]
        title = [(line, "") for line in lines] + [(line, "why") for why in part.reasons for line in _wrapped(str(why))]
        return Box("alone" if part.kernel is None else "kernel", title, inside, edges, layers)

    def _name(self, value: Any) -> str:
        return self._names.get(value) or ("constant" if self._likes[value].shape else "number")

    def _type(self, value: Any) -> str:
        return f"{self._likes[value].dtype} {self._likes[value].shape}"


def _arguments(step: Step) -> Iterator[Any]:
    """Yield the values of a step, and its arrays that are constants."""
    arguments: Sequence[Any] = [step] if isinstance(step, Check) else step.arguments
    for one in arguments:
        for each in one if type(one) in LISTS else [one]:
            if isinstance(each, VALUES) or (hasattr(each, "shape") and isinstance(getattr(each, "dtype", 0), np.dtype)):
                yield each


def _operation(structure: Structure, step: StructureStep) -> str:
    """Return the name of an op, with the constants among its operands."""
    numbers = dict(enumerate(structure.constants, len(structure.sources)))
    if numbers.keys().isdisjoint(step.operands):
        return step.name
    return f"{step.name}({', '.join(str(numbers.get(one, '·')) for one in step.operands)})"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, MOST_CHARACTERS)
