"""The data types of registered keys in words: `8 integer types, 4 floating types -> bool`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from inspect import signature
from typing import Any, Final

from ep.cli import names
from ep.include.data_type import DataType
from ep.include.number_kind import ALL, BOOL, CHAR, COMPLEXES, FLOATS, INTEGERS

GROUPS: Final = {
    "all 16 types": ALL,
    "bool": BOOL,
    "char": CHAR,
    "8 integer types": INTEGERS,
    "4 floating types": FLOATS,
    "2 complex types": COMPLEXES,
}
"""The names of sets of data types."""


def in_words(
    interface: type[Any], keys: Sequence[tuple[DataType, ...]], words: Callable[[Iterable[DataType]], str]
) -> str:
    """Return the data types of several keys of an interface in one line; `words` returns the text of a set of them.

    `A, B` if each type is combined with itself, `A, B -> C` if each of the first is combined with each of the second
    (`by` instead of `->` if the second is not the result), `A -> C; B -> D` if they are combined with different ones.
    """
    keys = list(dict.fromkeys(keys))
    if all(len(set(key)) < 2 for key in keys):
        return words([key[0] for key in keys if key])
    separator, seconds = _separator(interface), defaultdict(list)
    for first, second in keys:
        seconds[first].append(second)
    firsts = defaultdict(list)
    for first, its_seconds in seconds.items():
        firsts[frozenset(its_seconds)].append(first)
    return "; ".join(words(of_first) + separator + words(of_second) for of_second, of_first in firsts.items())


def parameters(interface: type[Any]) -> str:
    """Return the parameters of an interface's keys: `params_type by indices_type`, `src_type -> dst_type`."""
    return _separator(interface).join(_type_parameters(interface))


def by_name(data_types: Iterable[DataType]) -> str:
    """Return data types by name: `kFloat16 kFloat`."""
    return " ".join(data_type.name for data_type in sorted(data_types, key=names.kind_order))


def in_groups(data_types: Iterable[DataType]) -> str:
    """Return data types by complete groups, and the others by name: `bool, 8 integer types, kFloat`."""
    remaining, found = set(data_types), []
    for name, group in GROUPS.items():
        if remaining.issuperset(group):
            found.append(name)
            remaining -= set(group)
    return ", ".join([*found, *(data_type.name for data_type in sorted(remaining, key=names.kind_order))])


def legend(used: Iterable[str]) -> dict[str, str]:
    """Return the data types of the groups with several types that a text of `used` names."""
    found = "\n".join(used)
    return {name: by_name(group) for name, group in GROUPS.items() if len(group) > 1 and name in found}


def _type_parameters(interface: type[Any]) -> list[str]:
    return [name for name in signature(names.factory_of(interface).New).parameters if "type" in name]


def _separator(interface: type[Any]) -> str:
    return " -> " if {"dst_type", "out_type"} & set(_type_parameters(interface)) else " by "
