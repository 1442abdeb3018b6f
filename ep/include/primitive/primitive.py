"""The base classes of all primitives and of all factories of primitives."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import update_wrapper
from types import FunctionType
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
"""The most dims of a primitive. A factory that is asked for more returns None."""


class Key(NamedTuple):
    """The key of one entry in a factory's table.

    op: the UnaryOp, BinaryOp, ReduceOp or MemcpyKind, None for a primitive without one.
    dtypes: the data types, in the order of New (or of Launch, if the data type is an argument there).
    """

    op: Enum | None
    dtypes: tuple[DataType, ...]


@dataclass(frozen=True)
class Request:
    """The checked arguments of New.

    op, dtypes: as in Key; dtypes is None if the data type is an argument of Launch.
    max_num_dims: the most dims of a launch, None for a primitive without dims.
    attributes: the values of the op's attributes, including defaults.
    options: the other arguments of New (the transposes of the matrix products, whether TensorFloat-32 is allowed, and
        the structure of an Expression).
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
        # also the text of a registered key, which has no attribute values
        declared = attributes_of(self.op)
        parts += [f"{a.name}={value:g}" for a, value in zip(declared, self.attributes, strict=False)]
        for name, value in self.options.items():
            if value is not False:  # left out, as in the call of New
                parts.append(f"{name}={value.name if isinstance(value, Enum) else value}")
        return f"{self.interface.__name__}({', '.join(parts)})"


def _concrete(launch: Any) -> Any:
    """Return the abstract Launch of a contract as one that devices' classes have."""
    found = FunctionType(launch.__code__, launch.__globals__, launch.__name__, launch.__defaults__, launch.__closure__)
    found.__kwdefaults__ = launch.__kwdefaults__
    update_wrapper(found, launch).__dict__.update(__isabstractmethod__=False, is_of_contract=True)
    return found


class Primitive(ABC):
    """A small piece of device work, made by `ep.NewPrimitive` for one key and launched any number of times.

    The first argument of every `Launch` is the stream. On the CPU the work is done when it returns, elsewhere it is
    queued on the stream. A primitive may be launched from several threads at once.

    A primitive is defined by its request: the constructor of a device's class has only a Request, and all other state
    follows from that. So copy, deepcopy and pickle use the request alone, and the copy is a new primitive, in another
    process too. A primitive that a device makes without a Request can be neither copied nor pickled.
    """

    request: Request

    def __init__(self, request: Request) -> None:
        """request: kept for copies."""
        self.request = request

    def __reduce__(self) -> tuple[type[Primitive], tuple[Request]]:
        request = getattr(self, "request", None)
        if request is None:
            raise TypeError(f"{self!r} can be neither copied nor pickled: it was not made of a Request")
        return type(self), (request,)

    def Prepare(self) -> None:
        """Compile all kernels that any Launch needs, or load them from the disk cache."""
        return None

    @abstractmethod
    def Launch(self, stream: Any, *args: Any, **kwargs: Any) -> None:
        """Do the work on `stream`. The arguments are part of each primitive's contract."""

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *others: Any) -> None:
        """Check and do a launch. The Launch of a contract hands its arguments over, so a device's class defines this
        function, or another Launch.

        sizes: the sizes and other integers, or the dims and strides, as given. buffers: as given.
        others: the numbers and the data type of the launch, as given.
        """
        raise NotImplementedError(f"{type(self).__qualname__} does not define _launch_with")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        launch = cls.Launch
        is_abstract = getattr(launch, "__isabstractmethod__", False) and launch is not Primitive.Launch
        if is_abstract and cls._launch_with is not Primitive._launch_with:
            cls.Launch = _concrete(launch)  # type: ignore[method-assign]

    @classmethod
    def _has_launch_of_contract(cls) -> bool:
        """Return whether Launch is that of a contract, which hands its arguments over."""
        return getattr(cls.Launch, "is_of_contract", False)

    def __repr__(self) -> str:
        request = getattr(self, "request", None)
        return f"<{type(self).__module__}: {request}>" if request else super().__repr__()


P = TypeVar("P", bound=Primitive)


class Factory(Generic[P]):
    """A factory of one interface's primitives for one device.

    The contract of each interface is a subclass whose `New` checks its arguments and looks the key up. A device's
    factory derives from it, supplies the table `keys` and the maker `Make`, and is registered with
    `register_primitive_factory`. A factory that overrides `New` itself and lists no keys works, but is not listed.
    """

    primitive: ClassVar[type[Any]]
    """The interface that the factory makes."""
    keys: ClassVar[Collection[Key]] = ()
    """The keys of the device's factory; a set or a dict, since every New looks a key up."""

    def New(self, *args: Any, **kwargs: Any) -> P | None:
        """Return a primitive for the arguments, or None if the key is not supported.

        Each contract has its own arguments.
        """
        raise NotImplementedError(f"{type(self).__qualname__} derives from no factory contract")

    def Select(self, request: Request) -> P | None:
        """Return the primitive for a request if the table has its key, else None."""
        if request.max_num_dims is not None and request.max_num_dims > kMaxNumDims:
            return None
        if request.dtypes is None:
            return self.Make(request) if self.keys else None
        return self.Make(request) if Key(request.op, request.dtypes) in self.keys else None

    def Make(self, request: Request) -> P:
        """Return a new primitive for a request whose key is in the table."""
        raise NotImplementedError(f"{type(self).__qualname__} lists keys but does not define Make")

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__qualname__}: {len(self.keys)} keys>"


def data_types(**likes: DTypeLike) -> tuple[DataType, ...]:
    """Return the DataTypes of New's arguments, given by name. Raises the errors of `as_data_type`."""
    return tuple(as_data_type(like, argument) for argument, like in likes.items())


E_ = TypeVar("E_", bound=Enum)


def enumerator(value: E_, kind: type[E_], argument: str) -> E_:
    """Return `value` if it is a member of the enum `kind`. Raises TypeError otherwise."""
    if not isinstance(value, kind):
        raise ArgumentTypeError(
            argument, f"must be a {kind.__name__} such as {kind.__name__}.{next(iter(kind)).name}, not {shown(value)}"
        )
    return value


def product_options(
    transpose_a: BlasTransposeType, transpose_b: BlasTransposeType, allow_tf32: bool
) -> dict[str, Enum | bool]:
    """Return the options of a matrix product's request. Raises TypeError for values of other types."""
    if not isinstance(allow_tf32, bool):
        raise ArgumentTypeError("allow_tf32", f"must be True or False, not {shown(allow_tf32)}")
    return {
        "transpose_a": enumerator(transpose_a, BlasTransposeType, "transpose_a"),
        "transpose_b": enumerator(transpose_b, BlasTransposeType, "transpose_b"),
        "allow_tf32": allow_tf32,
    }


def num_dims(value: int, argument: str = "max_num_dims") -> int:
    """Return a number of dims as int. Raises TypeError if it is not an integer, ValueError if it is negative."""
    if isinstance(value, bool):
        raise ArgumentTypeError(argument, f"must be an integer, not {shown(value)}")
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentTypeError(argument, f"must be an integer, not {shown(value)}") from None
    if number < 0:
        raise ArgumentValueError(argument, f"is {number}; it must not be negative")
    return number


def attributes(op: UnaryOp | BinaryOp, attr0: Any, attr1: Any, names: Sequence[str] = ()) -> tuple[float, ...]:
    """Return the attribute values of `op`, with defaults for None.

    names: the caller's names of the attributes, for errors; those of New by default. Raises TypeError if a value
    without a default is missing or a value is not a real number, ValueError if the op does not accept a value.
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
        about = [names[position]] if names else [argument, f"({attribute.name}) of {op.name}"]
        if given is None:
            if attribute.default is None:
                raise ArgumentTypeError(*about, "is missing and has no default")
            given = attribute.default
        # float() would accept text, drop an imaginary part, and unpack an array
        no_number = str | bytes | type | np.complexfloating | np.flexible | np.datetime64 | np.timedelta64 | np.ndarray
        if isinstance(given, no_number) or not hasattr(given, "__float__"):
            raise ArgumentTypeError(*about, f"must be a real number, not {shown(given)}")
        try:
            values.append(float(given))
        except OverflowError:
            raise ArgumentValueError(*about, "is beyond the range of float64") from None
    return tuple(values)
