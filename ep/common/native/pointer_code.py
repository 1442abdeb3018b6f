"""The instructions that read and write through pointers: see `record.py`."""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir

from ep.common.native.fields import Field, Float64, Int32, Int64, OtherElements
from ep.common.native.words import load_float64, load_int, load_word, store_word, words_behind

NUMBERS: Final = Int64, Int32, Float64
"""The elements that are read as numbers."""

_WORD: Final = ir.IntType(64)


def read_item(builder: Any, element: Any, pointer: Any, index: Any) -> Any:
    """Write the instructions that read an element; return its value, or the pointer to a record."""
    if isinstance(element, OtherElements):
        return element.read_item(builder, pointer, index)
    if element is Int32:
        return load_int.write(builder, builder.add(pointer, builder.mul(index, _WORD(8))))
    if element in (Int64, Float64):
        return (load_word if element is Int64 else load_float64).write(builder, pointer, index)
    return words_behind(builder, pointer, builder.mul(index, _WORD(element.num_words)))


def read_field(builder: Any, field: Field, pointer: Any) -> Any:
    """Write the instructions that read a field; return its value, or the pointer to its elements."""
    if field.is_value:
        return read_item(builder, Int64 if field.is_pointer else field.element, pointer, _WORD(field))
    return words_behind(builder, pointer, _WORD(field))


def is_written_by_index(element: Any) -> bool:
    """Return whether code may write elements by their index."""
    return element in (Int64, Float64) or isinstance(element, OtherElements)


def write_item(builder: Any, element: Any, pointer: Any, index: Any, value: Any) -> None:
    """Write the instructions that write an element."""
    if isinstance(element, OtherElements):
        element.write_item(builder, pointer, index, value)
    else:
        write_field(builder, pointer, index, value)


def write_field(builder: Any, pointer: Any, index: Any, value: Any) -> None:
    """Write the instructions that write a number, or a pointer, to a word."""
    if value.type != _WORD:
        value = builder.bitcast(value, _WORD)
    store_word.write(builder, pointer, index, value)


class PointerValue:
    """A pointer in code that is written in LLVM IR: what is read of it are instructions.

    pointer.field, pointer[index]: as in other compiled code; the index is a Python int. address: the LLVM value.
    """

    def __init__(self, builder: Any, element: Any, address: Any) -> None:
        self._builder, self._element, self.address = builder, element, address

    def __getattr__(self, name: str) -> Any:
        field = getattr(self._element, name)
        found = read_field(self._builder, field, self.address)
        is_number = field.is_value and not field.is_pointer
        return found if is_number else PointerValue(self._builder, field.element, found)

    def __getitem__(self, index: int) -> Any:
        found = read_item(self._builder, self._element, self.address, _WORD(index))
        return found if self._element in NUMBERS else PointerValue(self._builder, self._element, found)
