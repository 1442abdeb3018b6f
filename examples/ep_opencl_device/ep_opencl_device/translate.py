"""The translation of functions of Python, such as ep's functors, to OpenCL C.

A function may have scalars, tuples of them, and calls of other such functions. Types follow from those of arguments:
each is a name of OpenCL C, or a tuple of names, which becomes a struct.
"""

import ast
import inspect
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ep.common.functor.math_library import ELEMENTARY, MathLibrary
from ep.common.loops.definition import definition_of
from ep.include.data_type import as_data_type
from ep_opencl_device.elements import computed, converted, loaded


class Value(NamedTuple):
    """An expression of OpenCL C, and its type."""

    text: str
    type: Any


@cache
def library(scalar_type):
    """Return the MathLibrary of a type of arithmetic: OpenCL C has all elementary functions, by the same names."""
    return MathLibrary(scalar_type, {name: name for name in ELEMENTARY}, lambda function: function)


_OPERATORS = {
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "%", ast.FloorDiv: "/", ast.RShift: ">>"},
    **{ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.And: "&&", ast.Or: "||"},
    **{ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="},
    **{ast.USub: "-", ast.Invert: "~", ast.Not: "!"},
}
_FUNCTIONS = {abs: "fabs", np.log: "log", ast.Pow: "pow", ast.FloorDiv: "floor_div", ast.Mod: "floor_mod"}
"""The functions of OpenCL C, and of `elements.PRELUDE`, for those of Python, and for operators on signed integers."""
_WIDER = "bool", "long", "ulong", "float", "double"  # arithmetic on two types is that of the later one


def _common(one, other):
    return one if isinstance(one, tuple) else max(one, other, key=_WIDER.index)


def number(value):
    """Return a number of NumPy or Python as a Value."""
    if isinstance(value, bool | np.bool_):
        return Value(str(bool(value)).lower(), "bool")
    kind = computed(as_data_type(value.dtype))
    if kind in ("long", "ulong"):
        return Value(f"({kind}){int(value) % 2**64}UL", kind)
    text = float(value).hex() if np.isfinite(value) else f"{value}".upper().replace("INF", "INFINITY")
    return Value(f"(({kind}){text})", kind)


class Program:
    """The texts of the functions and structs that a kernel uses."""

    def __init__(self):
        self._functions, self.texts = {}, []

    def call(self, function, *arguments):
        """Return the Value of a function of Python for Values; the function becomes part of the program."""
        key = function, tuple(argument.type for argument in arguments)
        if key not in self._functions:
            translated = _Function(self, *key)
            name = f"f{len(self._functions)}"
            self.texts.append(translated.text(name))
            self._functions[key] = name, translated.result
        name, result = self._functions[key]
        return Value(f"{name}({', '.join(argument.text for argument in arguments)})", result)

    def name_of(self, kind):
        """Return the name of a type; a tuple becomes a struct of the program."""
        if isinstance(kind, str):
            return kind
        name = "_".join(("tuple", *kind))
        declared = f"typedef struct {{ {' '.join(f'{each} m{k};' for k, each in enumerate(kind))} }} {name};"
        if declared not in self.texts:
            self.texts.append(declared)
        return name


class _Function:
    """The translation of one function, for arguments of some types. result: the type of what it returns."""

    def __init__(self, program, function, types):
        tree = definition_of(function)
        known = inspect.getclosurevars(function)
        self._known = {**known.builtins, **known.globals, **known.nonlocals}
        self._program, self.result = program, "bool"
        self._parameters = [parameter.arg for parameter in tree.args.args]
        self._types = dict(zip(self._parameters, types, strict=True))
        self._body = self._block(tree.body)

    def text(self, name):
        """Return the text of the function, by a name."""
        typed = {one: f"{self._program.name_of(kind)} {one}_" for one, kind in self._types.items()}
        parameters = ", ".join(typed.pop(parameter) for parameter in self._parameters)
        declared = " ".join(f"{one};" for one in typed.values())
        return f"{self._program.name_of(self.result)} {name}({parameters}) {{ {declared}\n{self._body}\n}}"

    def _block(self, statements):
        return "\n".join(getattr(self, f"_{type(statement).__name__}")(statement) for statement in statements)

    def _Expr(self, statement):
        return ""  # a docstring

    def _Break(self, statement):
        return "break;"

    def _Return(self, statement):
        value = self._value(statement.value)
        self.result = value.type if isinstance(value.type, tuple) else _common(self.result, value.type)
        return f"return {value.text};"

    def _Assign(self, statement):
        (target,) = statement.targets
        return self._assigned(target, self._value(statement.value))

    def _AugAssign(self, statement):
        return self._assigned(statement.target, self._binary(statement.op, statement.target, statement.value))

    def _assigned(self, target, value):
        if isinstance(target, ast.Name):
            self._types.setdefault(target.id, value.type)
            return f"{target.id}_ = {value.text};"
        whole = f"tuple{len(self._types)}"
        self._types[whole] = value.type
        parts = [Value(f"{whole}_.m{k}", kind) for k, kind in enumerate(value.type)]
        return "\n".join([f"{whole}_ = {value.text};", *map(self._assigned, target.elts, parts)])

    def _If(self, statement):
        more = f" else {{\n{self._block(statement.orelse)}\n}}" if statement.orelse else ""
        return f"if ({self._value(statement.test).text}) {{\n{self._block(statement.body)}\n}}{more}"

    def _While(self, statement):
        return f"while ({self._value(statement.test).text}) {{\n{self._block(statement.body)}\n}}"

    def _For(self, statement):
        """A loop over numbers that are known."""
        values = [number(value) for value in self._known[statement.iter.id]]
        name, kind, table = statement.target.id, values[0].type, f"table{len(self._types)}"
        self._types[name] = kind
        given = f"const {kind} {table}[] = {{ {', '.join(value.text for value in values)} }};"
        loop = f"for (int k = 0; k < {len(values)}; ++k) {{ {name}_ = {table}[k];\n{self._block(statement.body)}\n}}"
        return f"{given}\n{loop}"

    def _value(self, node):
        """Return the Value of an expression."""
        match node:
            case ast.Name(name) if name in self._types:
                return Value(f"{name}_", self._types[name])  # no word of OpenCL C ends like this
            case ast.Tuple(elements):
                values = [self._value(element) for element in elements]
                kind = tuple(value.type for value in values)
                return Value(f"(({self._program.name_of(kind)}){{ {', '.join(v.text for v in values)} }})", kind)
            case ast.Subscript(ast.Name(name), ast.Constant(place)) if name in self._types:
                return Value(f"{name}_.m{place}", self._types[name][place])
            case ast.IfExp(test, body, orelse):
                one, other = self._value(body), self._value(orelse)
                text = f"({self._value(test).text} ? {one.text} : {other.text})"
                return Value(text, _common(one.type, other.type))
            case ast.BoolOp(op, values):
                return Value(f"({_OPERATORS[type(op)].join(self._value(value).text for value in values)})", "bool")
            case ast.Compare(left, [op], [right]):
                one, other = self._both(left, right)
                return Value(f"({one.text} {_OPERATORS[type(op)]} {other.text})", "bool")
            case ast.BinOp(left, op, right):
                return self._binary(op, left, right)
            case ast.UnaryOp(op, operand):
                text, kind = self._value(operand)
                kind, modulo = "bool" if type(op) is ast.Not else kind, "(ulong)" if kind == "long" else ""
                return Value(f"(({kind}){_OPERATORS[type(op)]}{modulo}{text})", kind)
            case ast.Call(function, arguments):
                return self._call(self._object(function), [self._value(argument) for argument in arguments])
        return number(self._object(node))

    def _object(self, node):
        """Return the object of Python that an expression refers to, outside of the function."""
        match node:
            case ast.Name(name):
                return self._known[name]
            case ast.Attribute(whole, name):
                return getattr(self._object(whole), name)
            case ast.Subscript(whole, ast.Constant(place)):
                return self._object(whole)[place]
        return ast.literal_eval(node)

    def _both(self, left, right):
        """Return the Values of two operands, in one type."""
        values = self._value(left), self._value(right)
        kind = _common(*(value.type for value in values))
        return [Value(f"({kind}){value.text}", kind) for value in values]

    def _binary(self, op, left, right):
        one, other = self._both(left, right)
        kind = one.type
        if type(op) is ast.Pow or (kind == "long" and type(op) in _FUNCTIONS):
            return self._call(_FUNCTIONS[type(op)], [one, other])
        modulo = "(ulong)" if kind == "long" and type(op) is not ast.RShift else ""  # a signed sum must not overflow
        return Value(f"(({kind})({modulo}{one.text} {_OPERATORS[type(op)]} {modulo}{other.text}))", kind)

    def _call(self, function, arguments):
        if isinstance(function, type):
            data_type = as_data_type(function)
            return Value(loaded(data_type, converted(*arguments[0], data_type)), computed(data_type))
        if inspect.isfunction(function):
            return self._program.call(function, *arguments)
        name = function if isinstance(function, str) else _FUNCTIONS[function]
        return Value(f"{name}({', '.join(argument.text for argument in arguments)})", arguments[0].type)
