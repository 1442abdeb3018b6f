"""Structures in memory: their named fields, and what compiled code finds there. `record.py` shows how they are used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple


class ElementClass(type):
    """The class of all classes of elements: of records, `Int64` and `Float64`.

    A function of compiled code whose argument has such a class as its annotation gets a pointer to elements.
    """

    num_words: int
    pointer_type: ClassVar[Any]
    """Numba's type of pointers to elements of a class, by the class: `pointers.py`, which imports Numba, sets it."""

    @property
    def at(cls) -> Any:
        """Compiled code's function (address) that returns a pointer to elements at an address."""
        from ep.common.native.pointer_functions import pointer_at

        return pointer_at(cls)

    @property
    def on_stack(cls) -> Any:
        """Compiled code's function () that returns a pointer to a new element on the stack of the calling function.

        It has no value yet.
        """
        from ep.common.native.pointer_functions import pointer_on_stack

        return pointer_on_stack(cls)

    @property
    def array_on_stack(cls) -> Any:
        """Compiled code's function (count), a constant, that does the same for several elements."""
        from ep.common.native.pointer_functions import pointer_to_several

        return pointer_to_several(cls)


class Int32(metaclass=ElementClass):
    """A C int, which compiled code reads as an int64; it has the first half of a word."""

    num_words: ClassVar[int] = 1


class Int64(metaclass=ElementClass):
    """An int64, which a pointer points to."""

    num_words: ClassVar[int] = 1


class Float64(metaclass=ElementClass):
    """A float64."""

    num_words: ClassVar[int] = 1


class _Declared(NamedTuple):
    """A field before its class has given it a number: see `Field`."""

    element: Any
    width: int
    is_value: bool = True
    is_pointer: bool = False
    addresses: Sequence[int] = ()
    local: Sequence[int] = ()


class Field(int):
    """The number of the first word of a field in its record.

    element: the class of what compiled code finds there: Int64, Int32, Float64, or a class of structures.
    width: the number of words.
    is_value: whether compiled code reads one number or pointer; otherwise the field is a pointer to its elements.
    is_pointer: whether the word is the address of elements.
    """

    element: Any
    width: int
    is_value: bool
    is_pointer: bool

    def __new__(cls, number: int, declared: _Declared) -> Field:
        field = super().__new__(cls, number)
        field.element, field.width, field.is_value, field.is_pointer, *_ = declared
        return field


def word() -> Any:
    """Declare a field of an int64."""
    return _Declared(Int64, 1)


def c_int() -> Any:
    """Declare a field of a C int, and the padding behind it."""
    return _Declared(Int32, 1)


def words(count: int) -> Any:
    """Declare a field of `count` int64."""
    return _Declared(Int64, count, is_value=False)


def real() -> Any:
    """Declare a field of a float64."""
    return _Declared(Float64, 1)


def reals(count: int) -> Any:
    """Declare a field of `count` float64."""
    return _Declared(Float64, count, is_value=False)


def address() -> Any:
    """Declare a field of the address of something that is no record, or 0."""
    return _Declared(Int64, 1, addresses=(0,))


def addresses(count: int) -> Any:
    """Declare a field of `count` addresses, or 0."""
    return _Declared(Int64, count, is_value=False, addresses=range(count))


def local() -> Any:
    """Declare a field of an address that no launch of a list reads."""
    return _Declared(Int64, 1, local=(0,))


def pointer(element: Any) -> Any:
    """Declare a field of the address of elements: of records of a class, `Int64` or `Float64`; or 0."""
    return _Declared(element, 1, is_pointer=True, addresses=(0,))


def record(element: type[Fields]) -> Any:
    """Declare a field of a record of a class."""
    return records(element, 1)


def records(element: type[Fields], count: int) -> Any:
    """Declare a field of `count` records of a class."""
    size, places = element.num_words, element.addresses
    found = [size * k + place for k in range(count) for place in places]
    return _Declared(element, element.num_words * count, is_value=False, addresses=found)


class Fields(metaclass=ElementClass):
    """The base of all structures in memory. The fields of a class come after those of its base.

    num_words: of a structure. field_names: in order.
    What is an address is declared here alone, for all that `Words` may have; records on the stack declare nothing.
    """

    num_words: ClassVar[int] = 0
    field_names: ClassVar[tuple[str, ...]] = ()
    addresses: Sequence[int] = ()
    local: Sequence[int] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, declared in [*vars(cls).items()]:
            if isinstance(declared, _Declared):
                first = cls.num_words
                setattr(cls, name, Field(first, declared))
                cls.field_names = (*cls.field_names, name)
                cls.addresses = (*cls.addresses, *(first + place for place in declared.addresses))
                cls.local = (*cls.local, *(first + place for place in declared.local))
                cls.num_words += declared.width
