"""The parameters of an op's function: its signature, and the reading of a call."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ep.common.lazy import lazy
from ep.include.arrays import Array
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.op_table import OPS
from ep.include.primitive.primitive import attributes as attribute_values
from ep.include.primitive.unary_op import UnaryOp
from ep.include.suggest import did_you_mean
from ep.ops.names import function_name, parameter_name


class Call(NamedTuple):
    """The arguments of one call.

    operands: as given.
    attributes: all of them by name, with defaults filled in.
    """

    operands: Sequence[Any]
    attributes: Mapping[str, float]
    out: Array | None


class Parameters:
    """The parameters of an op: operands, then attributes by their own names or as `attr0` and `attr1`, then `out`."""

    def __init__(self, op: UnaryOp | BinaryOp) -> None:
        """Read operands and attributes from the op's tables."""
        row = OPS[op]
        declared = row.attributes
        self._op = op
        self._attribute_names = tuple(map(parameter_name, declared))
        self.operands = row.operands
        self._names = (*self.operands, *self._attribute_names)
        self._positions = {name: position for position, name in enumerate(self._names)}
        self._positions |= {f"attr{i}": len(self.operands) + i for i in range(len(declared))}

    @lazy
    def signature(self) -> inspect.Signature:
        """The signature of the op's function."""
        declared = OPS[self._op].attributes
        plain, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        none: Any = inspect.Parameter.empty
        defaults = [none] * len(self.operands) + [none if a.default is None else a.default for a in declared]
        of_attributes = keyword if OPS[self._op].by_name else plain
        kinds = [plain] * len(self.operands) + [of_attributes] * len(declared)
        annotations = ["ArrayLike"] * len(self.operands) + ["float"] * len(declared)
        parameters = [
            inspect.Parameter(name, kind, default=default, annotation=annotation)
            for name, kind, default, annotation in zip(self._names, kinds, defaults, annotations, strict=True)
        ]
        parameters.append(inspect.Parameter("out", keyword, default=None, annotation="Array | None"))
        return inspect.Signature(parameters, return_annotation="Array")

    def read(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
        """Return the arguments of a call; TypeError as Python raises it, and for attributes as New raises it."""
        num_operands = len(self.operands)
        if not kwargs and len(args) == num_operands and not self._attribute_names:
            return Call(args, {}, None)
        if len(args) > len(self._names):
            raise TypeError(f"{self} takes {len(self._names)} positional arguments, and {len(args)} were given")
        if len(args) > num_operands and OPS[self._op].by_name:
            raise TypeError(f"{self} takes {' and '.join(self._attribute_names)} by name, and not by position")
        values = dict(enumerate(args))
        for name, value in kwargs.items():
            if name == "out":
                continue
            position = self._positions.get(name)
            if position is None:
                raise TypeError(f"{self} has no parameter {name!r}{did_you_mean(name, self._positions)}")
            if position in values:
                raise TypeError(f"{self} got two values for {self._names[position]!r}")
            values[position] = value
        missing = [name for position, name in enumerate(self.operands) if position not in values]
        if missing:
            raise TypeError(f"{self} needs {' and '.join(missing)}")
        operands = [values[position] for position in range(num_operands)]
        given, names = (values.get(num_operands), values.get(num_operands + 1)), self._attribute_names
        attributes = zip(names, attribute_values(self._op, given[0], given[1], names), strict=True)
        return Call(operands, dict(attributes), kwargs.get("out"))

    def __str__(self) -> str:
        return f"{function_name(self._op)}()"
