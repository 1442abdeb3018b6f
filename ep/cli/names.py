"""Names as users type them: in any case, with or without the leading k."""

from __future__ import annotations

import inspect
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, Final, Generic, TypeVar

import ep.include.primitive as contracts
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType, load_all_providers
from ep.include.primitive import BinaryOp, MemcpyKind, Primitive, ReduceOp, UnaryOp, registered
from ep.include.suggest import did_you_mean, function_meant

T = TypeVar("T")

_KINDS_OF_OPS: Final = {ReduceOp: "reduce", UnaryOp: "unary", BinaryOp: "binary", MemcpyKind: "copy"}
_MOST_MEANT: Final = 4  # the most names in a suggestion
_MOST_LISTED: Final = 32  # the most names in an error
_KINDS: Final = ("b", "char", "i", "u", "f", "c")

INTERFACES: Final[Mapping[str, type[Primitive]]] = {
    name: value
    for name in contracts.__all__
    if isinstance(value := getattr(contracts, name), type) and issubclass(value, Primitive) and value is not Primitive
}
"""Every interface by its names: BroadcastElementwiseBinary is also BroadcastBinary."""


def factory_of(interface: type[Primitive]) -> Any:
    """Return the factory contract of an interface."""
    return getattr(contracts, f"{interface.__name__}Factory")


def short_name(interface: type[Primitive]) -> str:
    """Return the shortest name of an interface, for narrow tables."""
    return min((name for name, value in INTERFACES.items() if value is interface), key=len)


def interfaces_in_words() -> tuple[str, str]:
    """Return two clauses: the interfaces that a device implements, and those that are contracts alone."""
    implemented = {entry.interface for entry in registered()}
    there, not_there = (
        ", ".join(dict.fromkeys(value.__name__ for value in INTERFACES.values() if (value in implemented) is wanted))
        for wanted in (True, False)
    )
    return f"implemented are {there}", f"contracts alone are {not_there}"


class Names(Generic[T]):
    """The type of an argument, for argparse: it converts a name that a user typed to the named object."""

    def __init__(
        self,
        what: str,
        members: Callable[[], Mapping[str, T]],
        otherwise: Callable[[str], str] = lambda text: "",
        all_of_them: Callable[[], str] | None = None,
        meant: Callable[[str, Iterable[str]], str] = did_you_mean,
    ) -> None:
        """what: the noun for the objects.

        otherwise: returns a part of the error for a text that names an object of another kind.
        all_of_them: returns a part of the error if no name is near.
        meant: returns a part of the error that names what is near.
        """
        self._what, self._members, self._meant = what, members, meant
        self._otherwise, self._all_of_them = otherwise, all_of_them or self._listed

    def __call__(self, text: str) -> T:
        """Return the object that `text` names; ArgumentTypeError, with the nearest name, if there is none."""
        found = self.find(text)
        if found is None:
            raise ArgumentTypeError(self.refusal(text))
        return found

    def refusal(self, text: str) -> str:
        """Return the error for a text that names no object: it has the nearest name, or all."""
        hint = self._otherwise(text) or self._near(text) or self._all_of_them()
        article = "an" if self._what[0] in "aeiou" else "a"
        return f"{text!r} is not {article} {self._what}{hint}"

    def find(self, text: str) -> T | None:
        """Return the object that `text` names; None if there is none."""
        known = self._members()
        by_folded = {_fold(name): member for name, member in known.items()}
        bare = {_fold(name[1:]): member for name, member in known.items() if _is_enumerator(name)}
        folded = _fold(text)
        for table, key in ((by_folded, folded), (bare, folded), (by_folded, folded.removeprefix("k"))):
            if key in table:
                return table[key]
        return None

    def known(self) -> list[str]:
        """Return the names to offer in a shell, without the k."""
        return list(dict.fromkeys(name[1:] if _is_enumerator(name) else name for name in self._members()))

    def _near(self, text: str) -> str:
        """Return a suggestion: a name with a similar spelling, or one that contains the text."""
        known = self._members()
        containing = [repr(name) for name in known if text and _fold(text) in _fold(name)]
        if not (hint := self._meant(text, known)) and 0 < len(containing) <= _MOST_MEANT:
            return f"; did you mean {' or '.join(containing)}?"
        return hint

    def _listed(self) -> str:
        known = self._members()
        return f"; it is one of {', '.join(known)}" if len(known) <= _MOST_LISTED else ""


def _members_of(*kinds: type[Enum]) -> Callable[[], Mapping[str, Enum]]:
    return lambda: {member.name: member for kind in kinds for member in kind}


def _device_types() -> Mapping[str, DeviceType]:
    load_all_providers()
    return {member.tag: member for member in DeviceType}


def _data_types() -> Mapping[str, DataType]:
    sized = {member.dtype.name: member for member in DataType if member is not DataType.kChar}
    return sized | {member.name: member for member in DataType}


def _operators() -> Mapping[str, Any]:
    import ep.ops  # noqa: F401, which declares them
    from ep.ops.declare.operator import operators

    return {name: one for one in operators() for name in (one.name, *one.aliases)}


def _functions() -> Mapping[str, Any]:
    import ep.ops

    public = {name: getattr(ep.ops, name) for name in dir(ep.ops) if not name.startswith("_")}
    return {name: one for name, one in public.items() if inspect.isroutine(one)} | dict(_operators())


def _of_another_kind(text: str) -> str:
    other = op.find(text)
    return f"; it is a {_KINDS_OF_OPS[type(other)]} op" if other is not None else ""


def _made_of_operators(text: str) -> str:
    return "; it is a function that is made of operators" if text in _functions() else ""


primitive: Final = Names("primitive", lambda: INTERFACES, all_of_them=lambda: "; ".join(("", *interfaces_in_words())))
op: Final = Names("op", _members_of(*_KINDS_OF_OPS))
unary_op: Final = Names("unary op", _members_of(UnaryOp), _of_another_kind)
binary_op: Final = Names("binary op", _members_of(BinaryOp), _of_another_kind)
reduce_op: Final = Names("reduce op", _members_of(ReduceOp), _of_another_kind)
data_type: Final = Names("data type", _data_types)
operator: Final = Names("operator", _operators, _made_of_operators, meant=function_meant)
function: Final = Names("operator", _functions, meant=function_meant)
device_type: Final = Names("device type", _device_types)


def not_offered() -> list[str]:
    """Return the operators that a shell does not complete, as `dir(ep.ops)` leaves them out."""
    from ep.ops.names import is_backward

    return [name for name in _operators() if is_backward(name)]


def is_start_of(name: str, text: str) -> bool:
    """Whether a name begins with `text` as users type names; an option must begin with it exactly."""
    if name.startswith(text) or text.startswith("-"):
        return name.startswith(text)
    return _fold(name).startswith((_fold(text), _fold(text.removeprefix("k"))))


def kind_order(member: DataType) -> tuple[int, int, int]:
    """Return the sort key of data types: by kind, then by size."""
    kind = {DataType.kChar: "char", DataType.kBFloat16: "f"}.get(member, member.dtype.kind)
    return _KINDS.index(kind), member.itemsize, member.value


def _is_enumerator(name: str) -> bool:
    return name[:1] == "k" and name[1:2].isupper()


def _fold(name: str) -> str:
    """Return one spelling for kFastGelu, kfastgelu and k_fast_gelu."""
    return name.casefold().replace("_", "").replace("-", "")
