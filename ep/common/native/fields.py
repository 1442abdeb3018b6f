"""Structures in memory: their named fields, and what compiled code finds there. `record.py` shows how they are used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeAlias, TypeVar, cast

T = TypeVar("T")


class ElementClass(type):
    """The class of all classes of elements: of records, `Int64` and `Float64`.

    A function of compiled code whose argument has such a class as its annotation gets a pointer to elements.
    """

    num_words: int
    pointer_type: ClassVar[Any]
    """Numba's type of pointers to elements of a class, by the class: `pointers.py`, which imports Numba, sets it."""

    @property
    def at(cls: type[T]) -> Callable[[int], T]:
        """Compiled code's function (address) that returns a pointer to elements at an address."""
        from ep.common.native.pointer_functions import pointer_at

        made: Callable[[int], T] = pointer_at(cast(Any, cls))
        return made

    @property
    def on_stack(cls: type[T]) -> Callable[[], T]:
        """Compiled code's function () that returns a pointer to a new element on the stack of the calling function.

        It has no value yet.
        """
        from ep.common.native.pointer_functions import pointer_on_stack

        made: Callable[[], T] = pointer_on_stack(cast(Any, cls))
        return made

    @property
    def array_on_stack(cls: type[T]) -> Callable[[int], T]:
        """Compiled code's function (count), a constant, that does the same for several elements."""
        from ep.common.native.pointer_functions import pointer_to_several

        made: Callable[[int], T] = pointer_to_several(cast(Any, cls))
        return made

    def on_new_stack(cls, builder: Any, count: int) -> Any:
        """Write the instructions that return a pointer to new elements on the stack."""
        from ep.common.native.words import stack_memory

        return stack_memory(builder, count * cls.num_words)


class OtherElements(ElementClass):
    """The class of classes of elements that are neither words nor records; they say themselves what code does."""

    def item_type(cls) -> Any:
        """Return the type of an element."""
        raise NotImplementedError

    def read_item(cls, builder: Any, pointer: Any, index: Any) -> Any:
        """Write the instructions that read an element; return its value."""
        raise NotImplementedError

    def write_item(cls, builder: Any, pointer: Any, index: Any, value: Any) -> None:
        """Write the instructions that write an element."""
        raise NotImplementedError

    def place(cls, builder: Any, pointer: Any, index: Any) -> Any:
        """Write the instructions that return a pointer to an element."""
        raise NotImplementedError


if TYPE_CHECKING:  # a pointer is an address wherever an int64 is expected
    _Address = int
else:
    _Address = object


class Element(_Address, metaclass=ElementClass):
    """The base of all classes of elements. Compiled code has no objects of them, but pointers, which are addresses."""

    num_words: ClassVar[int] = 1

    if TYPE_CHECKING:

        def __setitem__(self, index: int, value: Any) -> None:
            """Write an element behind a pointer."""


AnyPointer: TypeAlias = Any
"""A pointer to elements of a class that the compiler infers from what a caller gives."""


class _Integer(Element):
    if TYPE_CHECKING:

        def __getitem__(self, index: int) -> int: ...


class Int32(_Integer):
    """A C int, which compiled code reads as an int64; it has the first half of a word."""


class Int64(_Integer):
    """An int64, which a pointer points to."""


class Float64(Element):
    """A float64."""

    if TYPE_CHECKING:

        def __getitem__(self, index: int) -> float: ...


E = TypeVar("E", bound=Element)
F = TypeVar("F", bound="Fields")


class _Declared(NamedTuple):
    """A field before its class has given it a number: see `Field`.

    The functions that declare one return it as what compiled code finds there, for checks of its types.
    """

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


def word() -> int:
    """Declare a field of an int64."""
    return cast(int, _Declared(Int64, 1))


def c_int() -> int:
    """Declare a field of a C int, and the padding behind it."""
    return cast(int, _Declared(Int32, 1))


def words(count: int) -> Int64:
    """Declare a field of `count` int64."""
    return cast(Int64, _Declared(Int64, count, is_value=False))


def real() -> float:
    """Declare a field of a float64."""
    return cast(float, _Declared(Float64, 1))


def reals(count: int) -> Float64:
    """Declare a field of `count` float64."""
    return cast(Float64, _Declared(Float64, count, is_value=False))


def address() -> int:
    """Declare a field of the address of something that is no record, or 0."""
    return cast(int, _Declared(Int64, 1, addresses=(0,)))


def addresses(count: int) -> Int64:
    """Declare a field of `count` addresses, or 0."""
    return cast(Int64, _Declared(Int64, count, is_value=False, addresses=range(count)))


def local() -> int:
    """Declare a field of an address that no launch of a list reads."""
    return cast(int, _Declared(Int64, 1, local=(0,)))


def pointer(element: type[E]) -> E:
    """Declare a field of the address of elements: of records of a class, `Int64` or `Float64`; or 0."""
    return cast(E, _Declared(element, 1, is_pointer=True, addresses=(0,)))


def record(element: type[F]) -> F:
    """Declare a field of a record of a class."""
    return records(element, 1)


def records(element: type[F], count: int) -> F:
    """Declare a field of `count` records of a class."""
    size, places = element.num_words, element.addresses
    found = [size * k + place for k in range(count) for place in places]
    return cast(F, _Declared(element, element.num_words * count, is_value=False, addresses=found))


class Fields(Element):
    """The base of all structures in memory. The fields of a class come after those of its base.

    num_words: of a structure. field_names: in order.
    What is an address is declared here alone, for all that `Words` may have; records on the stack declare nothing.
    """

    num_words: ClassVar[int] = 0
    field_names: ClassVar[tuple[str, ...]] = ()
    addresses: Sequence[int] = ()
    local: Sequence[int] = ()

    if TYPE_CHECKING:

        def __getitem__(self, index: int) -> Self:
            """Point to one of several records behind one another."""

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
