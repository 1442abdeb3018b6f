"""The common part of unary and binary operators: declarations and kernels, made from the table of ops."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any

from ep.common.primitive.broadcast import Dims
from ep.include.data_type import DataType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.op_definition import Gives
from ep.include.primitive.op_table import OPS, function_name
from ep.include.primitive.primitive import attributes as attribute_values
from ep.include.primitive.unary_op import UnaryOp
from ep.include.process import exclusively
from ep.include.suggest import did_you_mean
from ep.ops.declare.calls import Function
from ep.ops.declare.function import FUNCTIONS, made_function
from ep.ops.declare.gradient import Backward, Gradients, Rule
from ep.ops.declare.inputs import REQUIRED, Attribute, Input, Role
from ep.ops.declare.operator import Attributes, Operator, add_operator
from ep.ops.declare.type_rules import TypeRule
from ep.ops.elementwise_signatures import why_not_listed
from ep.ops.kernels import Plan, attribute, data_type, launching, primitive_exists
from ep.ops.names import parameter_name
from ep.ops.terms import zeros_like
from ep.sbp import Problem, SbpSignature


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
    return exclusively(lambda: import_module("ep.ops.declare.documentation"))


def _docstring(op: UnaryOp | BinaryOp) -> str:
    text: str = _documentation().docstring(op)
    return text


def _no_slope(back: Backward) -> Gradients:
    return [zeros_like(one) for one in back.inputs]


def declare_op(
    op: UnaryOp | BinaryOp,
    role: Role,
    shape: Callable[[Sequence[Dims], Attributes], Sequence[Dims]],
    signatures: Callable[[Any, Problem], Iterable[SbpSignature]],
    gradient: Rule | None,
) -> Operator:
    """Declare the operator of an op, and add its function `f(<operands>, <attributes>, *, out=None)`: made when used.

    role: of its operands. signatures: of an op for a problem.
    gradient: as in Operator; that of a constant op is 0 in any case.
    """
    row, name, resolve = OPS[op], function_name(op), _resolver(op)
    declared = add_operator(
        Operator(
            name=name,
            family="unary" if isinstance(op, UnaryOp) else "binary",
            inputs=tuple(Input(one, role) for one in row.operands),
            attributes=tuple(
                Attribute(parameter_name(one), "float", REQUIRED if one.default is None else one.default)
                for one in row.attributes
            ),
            resolve=resolve,
            shape=shape,
            dtype=OfOp(op),
            describe=partial(_docstring, op),
            aliases=(row.alias,) if row.alias else (),
            listed=partial(signatures, op),
            not_listed=partial(why_not_listed, op),
            gradient=_no_slope if row.is_constant else gradient,
            joins=op,
            standard={row.alias or name: row.differs} if row.differs else {},
        )
    )
    FUNCTIONS.add(name, lambda: _function(op, declared))
    for alias in declared.aliases:
        FUNCTIONS.add(alias, lambda: FUNCTIONS[name])
    return declared


def _function(op: UnaryOp | BinaryOp, declared: Operator) -> Function:
    """Return the function of an op, with its signature and docstring."""
    resolve: Any = declared.resolve
    plain, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    of_attributes = keyword if OPS[op].by_name else plain
    inputs = [inspect.Parameter(one.name, plain, annotation=one.role.value.capitalize()) for one in declared.inputs]
    attributes = [
        inspect.Parameter(one.name, of_attributes, default=one.default, annotation=one.type)
        for one in declared.attributes
    ]
    resolve.__signature__, resolve.__doc__ = inspect.Signature([*inputs, *attributes]), declared.meaning
    return made_function(declared, resolve)


def _resolver(op: UnaryOp | BinaryOp) -> Callable[..., Attributes]:
    """Return the function (operands, attributes) -> attributes of an op, with defaults filled in.

    Attributes are given by position, by their own names, or as `attr0` and `attr1`. Raises TypeError as Python raises
    it, and for attributes as New raises it.
    """
    row, name = OPS[op], function_name(op)
    num_operands, attributes = len(row.operands), tuple(map(parameter_name, row.attributes))
    names = (*row.operands, *attributes)
    positions = {one: position for position, one in enumerate(names)}
    positions |= {f"attr{k}": num_operands + k for k in range(len(attributes))}

    def resolve(*args: Any, **kwargs: Any) -> Attributes:
        if not kwargs and len(args) == num_operands and not attributes:
            return {}
        if len(args) > len(names):
            raise TypeError(f"{name}() takes {len(names)} positional arguments, and {len(args)} were given")
        if len(args) > num_operands and row.by_name:
            raise TypeError(f"{name}() takes {' and '.join(attributes)} by name, and not by position")
        values = dict(enumerate(args))
        for one, value in kwargs.items():
            position = positions.get(one)
            if position is None:
                raise TypeError(f"{name}() has no parameter {one!r}{did_you_mean(one, positions)}")
            if position in values:
                raise TypeError(f"{name}() got two values for {names[position]!r}")
            values[position] = value
        given = values.get(num_operands), values.get(num_operands + 1)
        return dict(zip(attributes, attribute_values(op, *given, attributes), strict=True))

    resolve.__name__ = resolve.__qualname__ = name
    resolve.__module__ = "ep.ops"
    return resolve


def add_kernel(
    op: UnaryOp | BinaryOp,
    factory: type[Any],
    launches: Callable[..., Plan],
    name: str,
    *dims: int,
    **names: Any,
) -> None:
    """Register the kernel that launches the primitive of an op.

    launches, name, names: as in `launching`. dims: the most dims, for a primitive that needs them.
    """
    row = OPS[op]
    attributes = (attribute(parameter_name(one)) for one in row.attributes)
    exists = primitive_exists(factory, op, data_type(row.operands[0]), data_type("out"), *dims, *attributes)
    launching(function_name(op), exists, name=name, **names)(launches)
