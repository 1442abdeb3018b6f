"""Records: words of memory with named fields, which Python and compiled code share.

    class Source(Record):
        data = address()
        count = word()

Python makes a record by its fields, `Source(count=3)`, and passes its `address`. A function of compiled code gets a
pointer, `def total(sources: Source, number)`, or makes one of an address, `Source.at(place)`. It reads and writes the
fields by their names, and `sources[2].count` is in the third of several records behind one another.

All other annotations of compiled functions are for mypy alone: `int` is a word, which may be an address, and `Scalar`,
`Vector`, `Mask` and `AnyPointer` are arguments whose types the compiler infers from what callers give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from weakref import ref

import numpy as np

from ep.common.native.fields import ElementClass, Fields, Float64
from ep.common.native.object_layout import data_address

ALL: Final[set[ref[Words]]] = set()
"""All words that there are."""


class Words:
    """An array that compiled code reads by its address.

    words: the array. addresses: the numbers of its words that are addresses, or 0. All else in it are numbers, whatever
    their values are. local: of those that no launch of a list reads, such as the addresses of types; they are 0 in
    other processes.
    """

    words: np.ndarray[Any, Any]
    addresses: Sequence[int]
    local: Sequence[int] = ()

    def __init__(self, words: np.ndarray[Any, Any], addresses: Sequence[int] = ()) -> None:
        self.words, self.addresses = words, addresses
        ALL.add(ref(self, ALL.discard))

    @property
    def address(self) -> int:
        """The address of the words."""
        return data_address(self.words)

    @staticmethod
    def all() -> list[Words]:
        """Return all words that there are."""
        return [one for reference in ALL.copy() if (one := reference()) is not None]


class Record(Fields, Words):
    """The base of structures that Python makes, too."""

    def __init__(self, **values: Any) -> None:
        """Make a record. values: numbers, or sequences of numbers, by the names of fields; all others are 0."""
        super().__init__(np.zeros(self.num_words, np.int64), type(self).addresses)
        for name, value in values.items():
            field = getattr(self, name)
            kind = np.float64 if field.element is Float64 else np.int64
            numbers = np.atleast_1d(np.asarray(value, kind)).view(np.int64)
            self.words[field : field + field.width][: len(numbers)] = numbers


def extended(base: Any, **fields: Any) -> Any:
    """Return a class of records that has more fields than `base`, all declared; its name tells them."""
    name = f"{base.__qualname__}({', '.join(f'{name}={field.width}' for name, field in fields.items())})"
    return ElementClass(base.__name__, (base,), {**fields, "__module__": base.__module__, "__qualname__": name})


def addresses_in(first: type[Record], more: type[Record], count: int) -> Sequence[int]:
    """Return the numbers of the addresses in the words of a record that `count` others follow."""
    begin, size, places = first.num_words, more.num_words, more.addresses
    return [*first.addresses, *(begin + size * k + place for k in range(count) for place in places)]
