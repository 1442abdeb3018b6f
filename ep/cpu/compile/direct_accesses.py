"""What a function that is written from its syntax tree reads and writes: fields, elements, lanes."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Final

from llvmlite import ir
from numba.core import types

from ep.common.native.fields import OtherElements
from ep.common.native.pointer_code import is_written_by_index, read_field, read_item, write_field, write_item
from ep.common.native.pointers import Pointer, field_of, field_type, is_written, item_type
from ep.cpu.compile.direct_calls import Operations, StaticObject, Value
from ep.cpu.compile.syntax import Unsupported
from ep.cpu.compile.vector_types import VectorType, lane, lane_type

_WORD: Final = ir.IntType(64)


class Accesses(Operations):
    """A writer of accesses to memory and to lanes."""

    @abstractmethod
    def find(self, node: ast.expr) -> Any:
        """Return what an expression stands for."""

    def find_all(self, nodes: Sequence[ast.expr]) -> list[Any]:
        """Return what several expressions stand for."""
        return [self.find(node) for node in nodes]

    def _of_Attribute(self, node: ast.Attribute) -> Any:
        of = self.find(node.value)
        if isinstance(of, StaticObject):
            return StaticObject(getattr(of.value, node.attr))
        field = self._field(of, node.attr)
        return Value(read_field(self._builder, field, of.value), field_type(field))

    def _field(self, of: Any, name: str) -> Any:
        field = field_of(of.kind, name) if isinstance(of, Value) and isinstance(of.kind, Pointer) else None
        if field is None:
            raise Unsupported
        return field

    def write_to(self, target: ast.Attribute | ast.Subscript, found: Any) -> None:
        """Write a field of a record, or a number behind a pointer."""
        if isinstance(target, ast.Attribute):
            of = self.find(target.value)
            field = self._field(of, target.attr)
            if not is_written(field):
                raise Unsupported
            value = self._cast(self.value_of(found), field_type(field))
            write_field(self._builder, of.value, _WORD(field), value)
            return
        of, index = self._item(target)
        element = of.kind.element
        if not is_written_by_index(element):
            raise Unsupported
        write_item(self._builder, element, of.value, index, self._cast(self.value_of(found), item_type(element)))

    def _item(self, node: ast.Subscript) -> tuple[Any, Any]:
        """Return a pointer, and the index of an element."""
        of, index = self.find_all([node.value, node.slice])
        if not isinstance(of, Value) or not isinstance(of.kind, Pointer):
            raise Unsupported
        return of, self._cast(self.value_of(index), types.int64)

    def _of_Subscript(self, node: ast.Subscript) -> Any:
        of = self.find(node.value)
        if isinstance(of, Value):
            if isinstance(of.kind, VectorType):
                return self._lane(of, self.find(node.slice))
            if isinstance(node.slice, ast.Slice):
                return self._rest(node.value, node.slice)
            of, index = self._item(node)
            return Value(read_item(self._builder, of.kind.element, of.value, index), item_type(of.kind.element))
        index = self.find(node.slice)
        if not isinstance(of, StaticObject) or not isinstance(index, StaticObject) or not isinstance(of.value, tuple):
            raise Unsupported
        return StaticObject(of.value[index.value])

    def _lane(self, of: Value, index: Any) -> Value:
        if not isinstance(index, StaticObject) or type(index.value) is not int:
            raise Unsupported
        return Value(lane(self._builder, of.value, index.value), lane_type(of.kind))

    def _rest(self, pointer: ast.expr, part: ast.Slice) -> Value:
        """Return a pointer to the elements from the start of a slice on."""
        if part.lower is None or part.upper is not None or part.step is not None:
            raise Unsupported
        of, start = self.find_all([pointer, part.lower])
        if not isinstance(of.kind, Pointer) or not isinstance(of.kind.element, OtherElements):
            raise Unsupported
        index = self._cast(self.value_of(start), types.int64)
        return Value(of.kind.element.place(self._builder, of.value, index), of.kind)
