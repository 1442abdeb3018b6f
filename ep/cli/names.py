"""Names as users type them: in any case, with or without the k in front."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final, TypeVar

import ep.include.primitive as contracts
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType, load_all_providers
from ep.include.primitive import BinaryOp, MemcpyKind, Primitive, UnaryOp
from ep.include.suggest import did_you_mean

T = TypeVar("T")

_KINDS: Final = ("b", "char", "i", "u", "f", "c")

INTERFACES: Final[Mapping[str, type[Primitive]]] = {
    name: value
    for name in contracts.__all__
    if isinstance(value := getattr(contracts, name), type) and issubclass(value, Primitive) and value is not Primitive
}
"""Every interface by its names: BroadcastElementwiseBinary is also BroadcastBinary."""


def factory_of(interface: type[Primitive]) -> Any:
    """The factory contract of an interface."""
    return getattr(contracts, f"{interface.__name__}Factory")


def short_name(interface: type[Primitive]) -> str:
    """The shortest name of an interface, for narrow tables."""
    return min((name for name, value in INTERFACES.items() if value is interface), key=len)


def primitive(text: str) -> type[Primitive]:
    """The interface that `text` names."""
    return _resolve(text, INTERFACES, "primitive")


def op(text: str) -> Enum:
    """The op, of any kind, that `text` names."""
    return op_of(UnaryOp, BinaryOp, MemcpyKind)(text)


def op_of(*kinds: type[Enum]) -> Callable[[str], Enum]:
    """Return what finds the op of some kinds that a text names."""

    def find(text: str) -> Enum:
        return _resolve(text, {member.name: member for kind in kinds for member in kind}, "op")

    return find


def data_type(text: str) -> DataType:
    """The data type that `text` names: kFloat and float32 are the same."""
    enumerators = {member.name: member for member in DataType}
    sized = {member.dtype.name: member for member in DataType if member is not DataType.kChar}
    return _resolve(text, {**sized, **enumerators}, "data type")


def device_type(text: str) -> DeviceType:
    """The device type that `text` names: cpu and kCPU are the same."""
    load_all_providers()
    return _resolve(text, {member.tag: member for member in DeviceType}, "device type")


def kind_order(member: DataType) -> tuple[int, int, int]:
    """Sorts data types as people look for them: by kind, then by size."""
    kind = {DataType.kChar: "char", DataType.kBFloat16: "f"}.get(member, member.dtype.kind)
    return _KINDS.index(kind), member.itemsize, member.value


def _resolve(text: str, known: Mapping[str, T], what: str) -> T:
    by_folded = {_fold(name): member for name, member in known.items()}
    bare = {_fold(name[1:]): member for name, member in known.items() if name[:1] == "k" and name[1:2].isupper()}
    folded = _fold(text)
    for table, key in ((by_folded, folded), (bare, folded), (by_folded, folded.removeprefix("k"))):
        if key in table:
            return table[key]
    hint = did_you_mean(text, known) or (f"; it is one of {', '.join(known)}" if len(known) <= 32 else "")
    raise ArgumentTypeError(f"{text!r} is no {what}{hint}")


def _fold(name: str) -> str:
    """One spelling for kFastGelu, kfastgelu and k_fast_gelu."""
    return name.casefold().replace("_", "").replace("-", "")
