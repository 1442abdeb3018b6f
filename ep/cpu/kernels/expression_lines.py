"""The lines of code that load and compute the values of an expression, for one element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ep.cpu.compile.memory import arithmetic_type, converter, loader
from ep.cpu.kernels.functors import ElementFunction, element_function
from ep.include.data_type import DataType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.op_definition import Cost
from ep.include.primitive.op_table import OPS
from ep.include.primitive.structure import ChoiceOp, Step, Structure
from ep.include.primitive.unary_op import UnaryOp

ANY: Final = 2
"""The step of an operand that is neither 0 nor 1; it is read from the plan, while 0 and 1 are compiled in."""

_MOST_AGAIN: Final = 4
"""The most steps that are recomputed to check whether elements are ordinary."""


class Lines:
    """The lines for the values of a structure: value 3 is the variable `v3`, the element of operand 0 is at `p0`.

    loaded: for each source, its line, and whether it is loaded once for all elements. computed: the lines of the steps,
    by value. rows: the operands that are loaded for each element. names: the objects that the lines refer to.
    functions: those of the steps that have a form for ordinary elements, by value. is_long: whether the steps are a
    long dependency chain.
    """

    def __init__(self, structure: Structure, steps: Sequence[int]) -> None:
        """steps: for each operand, as in a kernel."""
        self._structure, self._steps, self._num_results = structure, steps, len(structure.results)
        num_sources = len(structure.sources)
        self._computing = dict(enumerate(structure.steps, num_sources + len(structure.constants)))
        self.rows = [k for k in range(self._num_results, len(steps)) if steps[k] != 0]
        self.names: dict[str, Any] = {"np": np}
        self.functions: dict[int, ElementFunction] = {}
        self.is_long = False
        self.loaded = [self._load(value) for value in range(num_sources)]
        for value, constant in enumerate(structure.constants, num_sources):
            self.names[f"v{value}"] = _constant(constant.data_type, constant.bits)
        self.computed = {value: self._compute(value, step) for value, step in self._computing.items()}

    def index(self, operand: int) -> str:
        """Return the code for the number of an operand's element."""
        return {0: "0", 1: "i", ANY: f"i * s{operand}"}[self._steps[operand]]

    def is_rounded(self, value: int) -> bool:
        """Return whether a value is a number of its type already, not only when it is stored."""
        step = self._computing.get(value)
        return step is None or (step.op is not None and step.rounded)

    def operands(self, value: int) -> Sequence[int]:
        """Return the values that a step reads."""
        return self._computing[value].operands

    def cone(self, value: int) -> set[int] | None:
        """Return a step's last operand and the values that it is computed from; None if that computation takes long."""
        todo, cone = [self.operands(value)[-1]], set[int]()
        while todo:
            one = todo.pop()
            if one in cone:
                continue
            cone.add(one)
            step = self._computing.get(one)
            if step is None:
                continue
            if isinstance(step.op, UnaryOp | BinaryOp) and OPS[step.op].cost not in (Cost.LIGHT, Cost.DIVISION):
                return None
            todo += step.operands
        return cone if len(cone & self._computing.keys()) <= _MOST_AGAIN else None

    def _load(self, value: int) -> tuple[str, bool]:
        """Return the line that loads a source, and whether it is loaded once for all elements."""
        k = self._num_results + value
        self.names[f"load{value}"] = loader(self._structure.sources[value])
        if value in self._structure.chosen:  # loaded by the step that chooses rows
            return "pass", True
        return f"v{value} = load{value}(p{k}, {self.index(k)})", self._steps[k] == 0

    def _compute(self, value: int, step: Step) -> str:
        """Return the line that computes a step."""
        names = self.names
        operands = [f"v{operand}" for operand in step.operands]
        kept = step.data_type if step.rounded or step.data_type.itemsize > 2 else DataType.kFloat
        if step.data_type.dtype.kind in "biu":
            kept = step.data_type
        if step.op is None:
            return f"v{value} = v{step.operands[1]} if v{step.operands[0]} != 0 else v{step.operands[2]}"
        if step.op is ChoiceOp.kRow:
            source, index = step.operands
            k = self._num_results + source
            names[f"zero{value}"] = _constant(step.data_type, bytes(step.data_type.itemsize))
            row = f"row{value} = np.int64(v{index}); is{value} = 0 <= row{value} and row{value} < n{k}"
            place = f"p{k} + (row{value} if is{value} else 0) * r{k}, {self.index(k)}"
            loaded = f"v{value} = load{source}({place})"
            return f"{row}; {loaded}; v{value} = v{value} if is{value} else zero{value}"
        if step.op in (UnaryOp.kCast, UnaryOp.kIdentity):
            names[f"to{value}"] = converter(kept)
            return f"v{value} = to{value}({operands[0]})"
        function = element_function(step.op, self._structure.data_type(step.operands[0]), step.attributes)
        names[f"f{value}"], names[f"to{value}"] = function.apply, converter(kept, function.widened)
        self.is_long |= function.vectorised
        if function.check is not None:
            self.functions[value] = function
        if function.widened:
            operands = [f"np.float64({operand})" for operand in operands]
        for position, attribute in enumerate(function.attributes):
            names[f"f{value}_{position}"] = attribute
            operands.append(f"f{value}_{position}")
        return f"v{value} = to{value}(f{value}({', '.join(operands)}))"


def _constant(data_type: DataType, bits: bytes) -> Any:
    """Return a number in its arithmetic type."""
    number = np.frombuffer(bits, data_type.dtype)[0]
    return bool(number) if data_type is DataType.kBool else arithmetic_type(data_type)(number)
