"""Pointers to words, to float64 values and to records, as Numba knows them: each is the address, an int64."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from llvmlite import ir
from numba import types
from numba.core.typing.templates import AttributeTemplate  # the base of what `infer_getattr` takes
from numba.extending import (
    infer_getattr,
    lower_builtin,
    lower_cast,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
    type_callable,
    typeof_impl,
)

from ep.common.deferred import Deferred
from ep.common.native.fields import ElementClass, Field, Float64, Int32, Int64, OtherElements
from ep.common.native.pointer_code import is_written_by_index, read_field, read_item, write_field, write_item

_WORD = ir.IntType(64)
F = TypeVar("F", bound=Callable[..., Any])


def typed(decorator: Any) -> Callable[[F], F]:
    """Return a decorator of Numba's, which has no types."""
    return cast(Callable[[F], F], decorator)


class Pointer(types.Type):
    """The type of a pointer. element: the class of what it points to."""

    def __init__(self, element: Any) -> None:
        self.element = element
        super().__init__(name=f"{element.__qualname__}*")

    @property
    def key(self) -> Any:
        """What a type is known by: one class may have the name of another."""
        return self.element

    def can_convert_to(self, typingctx: Any, other: Any) -> Any:
        """Let a pointer be an address, where one is expected."""
        if other != types.int64:
            return None
        return typingctx.can_convert(types.uint32, types.int64)  # a safe conversion, which keeps the value


ElementClass.pointer_type = Pointer


@register_model(Pointer)
class _PointerModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        models.PrimitiveModel.__init__(self, manager, kind, _WORD)


@typed(lower_cast(Pointer, types.int64))
@typed(lower_cast(types.Integer, Pointer))
def _as_address(context: Any, builder: Any, kind: Any, other: Any, value: Any) -> Any:
    return value


def argument_types(function: Any) -> tuple[Any, ...]:
    """Return the types of a function's arguments: pointers, if their annotations are classes of elements, or int64."""
    said = inspect.get_annotations(function, eval_str=True)
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return tuple(Pointer(said[name]) if isinstance(said.get(name), ElementClass) else types.int64 for name in names)


def as_declared(kinds: Iterable[Any], declared: Iterable[Any]) -> tuple[Any, ...]:
    """Return the types of given arguments, with the pointers that are declared in place of pointers and integers."""
    given = list(kinds)
    for number, (kind, expected) in enumerate(zip(given, declared, strict=False)):
        if isinstance(expected, Pointer) and isinstance(kind, Pointer | types.Integer):
            given[number] = expected
    return tuple(given)


@typed(lower_cast(Pointer, Pointer))
def _as_base(context: Any, builder: Any, kind: Pointer, expected: Pointer, value: Any) -> Any:
    check_base(kind, expected)
    return value


def check_base(kind: Pointer, expected: Pointer) -> None:
    """Raise NotImplementedError unless a pointer may stand for another one: for one to a base of its class."""
    if not issubclass(kind.element, expected.element):
        raise NotImplementedError(f"a pointer to {kind.element.__name__} for one to {expected.element.__name__}")


def field_of(kind: Pointer, name: str) -> Field | None:
    """Return a field of the records that a pointer points to, or None."""
    found = getattr(kind.element, name, None)
    return found if isinstance(found, Field) else None


def item_type(element: Any) -> Any:
    """Return the type of an element of a pointer: a number, or a pointer to a record."""
    if isinstance(element, OtherElements):
        return element.item_type()
    return {Int64: types.int64, Int32: types.int64, Float64: types.float64}.get(element) or Pointer(element)


def field_type(field: Field) -> Any:
    """Return the type of a field."""
    return Pointer(field.element) if field.is_pointer or not field.is_value else item_type(field.element)


def is_written(field: Field) -> bool:
    """Return whether code may write a field: a number or a pointer that has the whole word."""
    return field.is_value and (field.is_pointer or field.element is not Int32)


@infer_getattr
class _Fields(AttributeTemplate):
    key = Pointer

    def generic_resolve(self, kind: Pointer, name: str) -> Any:  # type: ignore[override]
        field = field_of(kind, name)
        return None if field is None else field_type(field)


@typed(lower_getattr_generic(Pointer))
def _read_field(context: Any, builder: Any, kind: Pointer, value: Any, name: str) -> Any:
    return read_field(builder, getattr(kind.element, name), value)


@typed(lower_setattr_generic(Pointer))
def _write_field(context: Any, builder: Any, described: Any, args: Any, name: str) -> None:
    element = described.args[0].element
    field = getattr(element, name)
    if not is_written(field):
        raise NotImplementedError(f"{element.__name__}.{name} is no word, which code may write")
    write_field(builder, args[0], _WORD(field), args[1])


@typed(type_callable(operator.getitem))
def _type_of_item(context: Any) -> Any:
    def type_of(pointer: Any, index: Any) -> Any:
        if isinstance(pointer, Pointer) and index == types.slice2_type and isinstance(pointer.element, OtherElements):
            return pointer
        return item_type(pointer.element) if _is_item(pointer, index) else None

    return type_of


@typed(type_callable(operator.setitem))
def _type_of_writing(context: Any) -> Any:
    def type_of(pointer: Any, index: Any, value: Any) -> Any:
        return types.void if _is_item(pointer, index) and is_written_by_index(pointer.element) else None

    return type_of


def _is_item(pointer: Any, index: Any) -> bool:
    return isinstance(pointer, Pointer) and isinstance(index, types.Integer)


@typed(lower_builtin(operator.getitem, Pointer, types.Integer))
def _read_item(context: Any, builder: Any, described: Any, args: Any) -> Any:
    pointer, index = described.args
    return read_item(builder, pointer.element, args[0], context.cast(builder, args[1], index, types.int64))


@typed(lower_builtin(operator.getitem, Pointer, types.slice2_type))
def _place_of_rest(context: Any, builder: Any, described: Any, args: Any) -> Any:
    pointer, kind = described.args
    return pointer.element.place(builder, args[0], context.make_helper(builder, kind, args[1]).start)


@typed(lower_builtin(operator.setitem, Pointer, types.Integer, types.Any))
def _write_item(context: Any, builder: Any, described: Any, args: Any) -> Any:
    pointer, index, kind = described.args
    value = context.cast(builder, args[2], kind, item_type(pointer.element))
    write_item(builder, pointer.element, args[0], context.cast(builder, args[1], index, types.int64), value)
    return context.get_dummy_value()


class _Class(types.Dummy):
    """The type of a class of records."""

    def __init__(self, records: ElementClass) -> None:
        self.records = records
        super().__init__(name=f"class {records.__qualname__}")

    @property
    def key(self) -> Any:
        """What a type is known by."""
        return self.records


register_model(_Class)(models.OpaqueModel)


@typed(typeof_impl.register(ElementClass))
def _type_of_class(value: ElementClass, context: Any) -> Any:
    return _Class(value)


@infer_getattr
class _OfClass(AttributeTemplate):
    key = _Class

    def generic_resolve(self, kind: _Class, name: str) -> Any:  # type: ignore[override]
        found = getattr(kind.records, name, None)
        if isinstance(found, int):
            return types.int64
        return self.context.resolve_value_type(found) if isinstance(found, Deferred) else None


@typed(lower_getattr_generic(_Class))
def _read_of_class(context: Any, builder: Any, kind: _Class, value: Any, name: str) -> Any:
    found = getattr(kind.records, name)
    return _WORD(found) if isinstance(found, int) else context.get_dummy_value()
