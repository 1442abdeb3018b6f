"""Values that are made when they are first asked for: of attributes, of tables, of a process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial, wraps
from typing import Any, Generic, TypeVar, overload

from ep.include.process import exclusively

T = TypeVar("T")


def once(make: Callable[..., T]) -> Callable[..., T]:
    """Keep the value that a function makes for its arguments: one thread makes it, and all get the same object.

    `functools.cache` lets two threads make it at once, and keeps the second one. This is for a value whose address
    compiled code keeps, or whose state all threads must share.
    """
    made = cache(make)

    @cache  # a call for a value that is there takes no lock
    @wraps(make)
    def kept(*args: Any) -> T:
        return exclusively(partial(made, *args))

    return kept


class lazy(Generic[T]):
    """A method that is replaced by its value, as an attribute, on first access.

    If two threads compute it at once, both get the same value.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function, self.__doc__ = function, function.__doc__

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> lazy[T]: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T | lazy[T]:
        if instance is None:  # accessed on the class
            return self
        value: T = instance.__dict__.setdefault(self._name, self._function(instance))
        return value


class LazyTable(Mapping[str, T]):
    """A table whose values may be made on first look-up. If two threads make one at once, all get the same of them."""

    def __init__(self) -> None:
        self._values: dict[str, T] = {}
        self._makers: dict[str, Callable[[], T]] = {}

    def __getitem__(self, name: str) -> T:
        if name in self._values:
            return self._values[name]
        return self._values.setdefault(name, self._makers[name]())

    def __setitem__(self, name: str, value: T) -> None:
        self._values[name] = value

    def add(self, name: str, make: Callable[[], T]) -> None:
        """Add a value that `make` makes."""
        self._makers[name] = make

    def __iter__(self) -> Iterator[str]:
        return iter({**self._makers, **self._values})

    def __len__(self) -> int:
        return len({**self._makers, **self._values})

    def __contains__(self, name: object) -> bool:
        return name in self._values or name in self._makers
