"""The bases of all primitives and of all factories of primitives."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeVar

import numpy as np

from ep.include.data_type import DataType, DTypeLike, as_data_type
from ep.include.errors import ArgumentTypeError, ArgumentValueError
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.op_table import attributes_of
from ep.include.primitive.unary_op import UnaryOp
from ep.include.shown import shown

kMaxNumDims: Final = 8
"""The most dims that a primitive takes; a factory asked for more returns None."""


class Key(NamedTuple):
    """The key of one entry in a factory's table.

    op: the UnaryOp, BinaryOp, ReduceOp or MemcpyKind, None for a primitive without one.
    dtypes: the data types, in the order of New (or of Launch, where the data type is an argument there).
    """

    op: Enum | None
    dtypes: tuple[DataType, ...]


@dataclass(frozen=True)
class Request:
    """The arguments of New, checked.

    op, dtypes: as in Key; dtypes is None if New takes no data type because Launch does.
    max_num_dims: the most dims that will be launched, None for a primitive without dims.
    attributes: the values of the op's attributes, defaults filled in.
    options: what else New takes (the transposes of the matrix products, whether TensorFloat-32 will do, and the
        structure of an Expression).
    """

    interface: type[Any]
    op: Enum | None
    dtypes: tuple[DataType, ...] | None
    max_num_dims: int | None = None
    attributes: tuple[float, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [] if self.op is None else [self.op.name]
        parts += [data_type.name for data_type in self.dtypes or ()]
        if self.max_num_dims is not None:
            parts.append(f"max_num_dims={self.max_num_dims}")
        # a registered key, which has no attribute values, is spelled by this too
        declared = attributes_of(self.op)
        parts += [f"{a.name}={value:g}" for a, value in zip(declared, self.attributes, strict=False)]
        for name, value in self.options.items():
            if value is not False:  # what is left out when New is called
                parts.append(f"{name}={value.name if isinstance(value, Enum) else value}")
        return f"{self.interface.__name__}({', '.join(parts)})"


class Primitive(ABC):
    """A small piece of device work, made by `ep.NewPrimitive` for one key and launched any number of times.

    `Launch` of every primitive takes the stream first. On the CPU the work is done when it returns, elsewhere it is
    queued on the stream. A primitive may be launched from several threads at once.

    A primitive is its request: a device's class takes a Request and nothing else, and all that it keeps besides follows
    from that. So copy, deepcopy and pickle carry the request alone, and the copy is a new primitive, in another process
    too. What a device makes otherwise, without a Request, can be neither copied nor pickled.
    """

    request: Request

    def __init__(self, request: Request) -> None:
        """Keep what was asked for."""
        self.request = request

    def __reduce__(self) -> tuple[type[Primitive], tuple[Request]]:
        request = getattr(self, "request", None)
        if request is None:
            raise TypeError(f"{self!r} can be neither copied nor pickled: it was not made of a Request")
        return type(self), (request,)

    def Prepare(self) -> None:
        """Compile, or load from the disk cache, what any Launch would otherwise compile or load."""
        return None

    @abstractmethod
    def Launch(self, stream: Any, *args: Any, **kwargs: Any) -> None:
        """Do the work on `stream`; each primitive's contract says with which arguments."""

    def __repr__(self) -> str:
        request = getattr(self, "request", None)
        return f"<{type(self).__module__}: {request}>" if request else super().__repr__()


P = TypeVar("P", bound=Primitive)


class Factory(Generic[P]):
    """Makes primitives of one interface for one device.

    The contract of each interface is a subclass with a `New` that checks its arguments and looks the key up; a
    device's factory derives from that, supplies the table `keys` and the maker `Make`, and is registered with
    `register_primitive_factory`. A factory that overrides `New` itself and lists no keys works, but is not listed.
    """

    primitive: ClassVar[type[Any]]
    """The interface that the factory makes."""
    keys: ClassVar[Collection[Key]] = ()
    """The keys that the device's factory makes; a set or a dict, since every New looks a key up."""

    def New(self, *args: Any, **kwargs: Any) -> P | None:
        """Return a primitive for the arguments, None for a key that is not served; each contract has its own."""
        raise NotImplementedError(f"{type(self).__qualname__} derives from no factory contract")

    def Select(self, request: Request) -> P | None:
        """Make what was requested where the table has it, else answer None."""
        if request.max_num_dims is not None and request.max_num_dims > kMaxNumDims:
            return None
        if request.dtypes is None:
            return self.Make(request) if self.keys else None
        return self.Make(request) if Key(request.op, request.dtypes) in self.keys else None

    def Make(self, request: Request) -> P:
        """Return a new primitive for a request that the table has."""
        raise NotImplementedError(f"{type(self).__qualname__} lists keys but does not define Make")

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__qualname__}: {len(self.keys)} keys>"


def data_types(**likes: DTypeLike) -> tuple[DataType, ...]:
    """Return the DataTypes of New's arguments, given by name; errors as `as_data_type`."""
    return tuple(as_data_type(like, argument) for argument, like in likes.items())


E_ = TypeVar("E_", bound=Enum)


def enumerator(value: E_, kind: type[E_], argument: str) -> E_:
    """Return `value` where it is a member of the enum `kind`; TypeError otherwise."""
    if not isinstance(value, kind):
        raise ArgumentTypeError(
            argument, f"must be a {kind.__name__} such as {kind.__name__}.{next(iter(kind)).name}, not {shown(value)}"
        )
    return value


def product_options(
    transpose_a: BlasTransposeType, transpose_b: BlasTransposeType, allow_tf32: bool
) -> dict[str, Enum | bool]:
    """Return the options of a request for a matrix product; TypeError for what is no BlasTransposeType, or no bool."""
    if not isinstance(allow_tf32, bool):
        raise ArgumentTypeError("allow_tf32", f"must be True or False, not {shown(allow_tf32)}")
    return {
        "transpose_a": enumerator(transpose_a, BlasTransposeType, "transpose_a"),
        "transpose_b": enumerator(transpose_b, BlasTransposeType, "transpose_b"),
        "allow_tf32": allow_tf32,
    }


def num_dims(value: int, argument: str = "max_num_dims") -> int:
    """Return a number of dims as int; TypeError for what is no integer, ValueError below 0."""
    if isinstance(value, bool):
        raise ArgumentTypeError(argument, f"must be an integer, not {shown(value)}")
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentTypeError(argument, f"must be an integer, not {shown(value)}") from None
    if number < 0:
        raise ArgumentValueError(argument, f"is {number}; it must not be negative")
    return number


def attributes(op: UnaryOp | BinaryOp, attr0: Any, attr1: Any) -> tuple[float, ...]:
    """Return the attribute values of `op`, with defaults for what is None.

    Raises TypeError for a missing value without a default and for what is no real number, ValueError for a value
    that the op does not take.
    """
    declared = attributes_of(op)
    values: list[float] = []
    for position, given in enumerate((attr0, attr1)):
        argument = f"attr{position}"
        if position >= len(declared):
            if given is not None:
                takes = "only attr0" if declared else "no attributes"
                raise ArgumentValueError(argument, f"is {shown(given)}, but {op.name} takes {takes}")
            continue
        attribute = declared[position]
        if given is None:
            if attribute.default is None:
                raise ArgumentTypeError(argument, f"({attribute.name}) of {op.name} is missing and has no default")
            given = attribute.default
        # float() would take text, drop an imaginary part, and unpack an array
        if isinstance(given, str | bytes | np.complexfloating | np.ndarray) or not hasattr(given, "__float__"):
            raise ArgumentTypeError(
                argument, f"({attribute.name}) of {op.name} must be a real number, not {shown(given)}"
            )
        try:
            values.append(float(given))
        except OverflowError:
            raise ArgumentValueError(
                argument, f"({attribute.name}) of {op.name} is beyond the range of float64"
            ) from None
    return tuple(values)
