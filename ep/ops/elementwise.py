"""The common part of unary and binary operators: declarations and kernels, made from the table of ops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, Operands
from ep.include.data_type import DataType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.op_definition import Gives
from ep.include.primitive.op_table import OPS
from ep.include.primitive.unary_op import UnaryOp
from ep.include.process import exclusively
from ep.ops.declare.calls import Function, Read, calling
from ep.ops.declare.function import FUNCTIONS
from ep.ops.declare.gradient import Backward, Gradients, Rule
from ep.ops.declare.inputs import REQUIRED, Attribute, Input, Role
from ep.ops.declare.operator import Attributes, Operator, add_operator
from ep.ops.declare.type_rules import TypeRule
from ep.ops.elementwise_signatures import why_not_listed
from ep.ops.kernels import Launches, attribute, data_type, launching, primitive_exists
from ep.ops.names import function_name, parameter_name
from ep.ops.parameters import Parameters
from ep.ops.terms import zeros_like
from ep.sbp import Problem, Signature


class OfOp(TypeRule):
    """The type of an op's result, from the table of ops."""

    def __init__(self, op: UnaryOp | BinaryOp) -> None:
        """op: the op whose results have the type."""
        self.row = OPS[op]

    def result(self, types: Mapping[str, DataType], attributes: Mapping[str, Any]) -> DataType:
        return self.row.result_type(types[self.row.operands[0]])

    def __str__(self) -> str:
        source = self.row.operands[0]
        if self.row.gives is Gives.BOOLEAN:
            return "kBool"
        words = {Gives.PART: f"that of the parts of {source}", Gives.WHOLE: f"the complex one with parts as {source}"}
        return words.get(self.row.gives, f"that of {source}")


@cache
def _documentation() -> Any:
    """Return the module that writes texts: few are asked for, and never where a kernel is computed again."""
    return exclusively(lambda: import_module("ep.ops.documentation"))


def _no_slope(back: Backward) -> Gradients:
    return [zeros_like(one) for one in back.inputs]


class OpOperator:
    """The operator of an op: its declaration, and the reading of calls of its function."""

    def __init__(
        self,
        op: UnaryOp | BinaryOp,
        role: Role,
        shape: Callable[[Sequence[Dims], Attributes], Sequence[Dims]],
        signatures: Callable[[Any, Problem], Iterable[Signature]],
        gradient: Rule | None,
    ) -> None:
        """Declare the operator. role: of its operands. signatures: of an op for a problem.

        gradient: as in Operator; that of a constant op is 0 in any case.
        """
        self.op, self.parameters = op, Parameters(op)
        row = OPS[op]
        self.declared = add_operator(
            Operator(
                name=function_name(op),
                family="unary" if isinstance(op, UnaryOp) else "binary",
                inputs=tuple(Input(name, role) for name in row.operands),
                attributes=tuple(
                    Attribute(parameter_name(one), "float", REQUIRED if one.default is None else one.default)
                    for one in row.attributes
                ),
                resolve=self._resolve,
                shape=shape,
                dtype=OfOp(op),
                describe=self._describe,
                aliases=(row.alias,) if row.alias else (),
                listed=partial(signatures, op),
                gradient=_no_slope if row.is_constant else gradient,
                joins=op,
                not_listed=partial(why_not_listed, op),
                standard={row.alias or function_name(op): row.differs} if row.differs else {},
            )
        )

    def _describe(self) -> str:
        text: str = _documentation().docstring(self.op)
        return text

    def _resolve(self, *args: Any, **kwargs: Any) -> Attributes:
        return self.parameters.read(args, kwargs).attributes

    def add_kernel(
        self, factory: type[Any], launches: Callable[..., Launches], name: str, *dims: int, **names: Any
    ) -> None:
        """Register the kernel that launches the primitive of the op.

        launches, name, names: as in `launching`. dims: the most dims, for a primitive that needs them.
        """
        row = OPS[self.op]
        attributes = (attribute(parameter_name(one)) for one in row.attributes)
        exists = primitive_exists(factory, self.op, data_type(row.operands[0]), data_type("out"), *dims, *attributes)
        launching(self.declared.name, exists, name=name, **names)(launches)

    def add_function(self, read_operands: Callable[[Sequence[Any]], tuple[Operands, Sequence[Array]]]) -> None:
        """Add the operator's function to `ep.ops`, `f(<operands>, <attributes>, *, out=None)`: made when it is used.

        read_operands: operands as given -> the object that reads them, and the buffers.
        """
        name = self.declared.name
        FUNCTIONS.add(name, lambda: self.function(name, read_operands, self.declared.meaning))
        for alias in self.declared.aliases:
            FUNCTIONS.add(alias, lambda: FUNCTIONS[name])

    def function(
        self, name: str, read_operands: Callable[[Sequence[Any]], tuple[Operands, Sequence[Array]]], meaning: str
    ) -> Function:
        """Return a function of the operator. name, meaning: its name and docstring. read_operands: see `add_function`.

        `read_operands` may refuse operands that the operator takes.
        """

        def read(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Read:
            operands, attributes, out = self.parameters.read(args, kwargs)
            return Read(*read_operands(operands), attributes, out)

        function = calling(self.declared, name, self.declared.inputs, read)
        function.__name__ = function.__qualname__ = name
        function.__module__, function.__doc__ = "ep.ops", meaning
        function.__signature__ = self.parameters.signature  # type: ignore[attr-defined]
        return function
