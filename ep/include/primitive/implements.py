"""The registration of a device's primitive with its table of keys: `implements` makes and registers the factory."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ep.include.device_type import DeviceType
from ep.include.errors import ArgumentTypeError, ArgumentValueError
from ep.include.primitive.primitive import Factory, Key, Primitive, Request
from ep.include.primitive.registry import check_contract, register_primitive_factory
from ep.include.shown import shown

C = TypeVar("C", bound=type[Primitive])


def implements(interface: type[Factory[Any]], *, on: DeviceType, keys: Iterable[Key]) -> Callable[[C], C]:
    """Class decorator: register the decorated primitive as an implementation of `interface` on a device type.

    interface: a contract such as GatherFactory. The decorated class derives from its primitive, here Gather, and its
        constructor has only a Request.
    on: the device type.
    keys: the keys of the primitive, at least one. A device may have several primitives of one interface if their keys
        differ.

    It makes a factory with the table `keys`, whose Make calls the class, and passes it to `register_primitive_factory`.
    Use that directly for a factory that looks up its keys in another way. Raises TypeError for a class that does not
    implement the interface, ValueError if there are no keys, and the errors of `register_primitive_factory`.
    """
    check_contract(interface, on)
    try:
        table = frozenset(keys)
    except TypeError:
        raise ArgumentTypeError(
            "keys", f"must be an iterable of Key(op or None, (DataType, ...)), not {shown(keys)}"
        ) from None
    if not table:
        raise ArgumentValueError("keys", f"is empty; {interface.__name__} needs one key at least")

    def implement(primitive: C) -> C:
        contract = interface.primitive
        if not (isinstance(primitive, type) and issubclass(primitive, contract)):
            raise TypeError(f"{primitive!r} must be a class that derives from {contract.__name__}")
        if inspect.isabstract(primitive):
            missing = ", ".join(sorted(primitive.__abstractmethods__))
            raise TypeError(f"{primitive!r} must define {missing}")

        def Make(self: Factory[Any], request: Request) -> Primitive:
            return primitive(request)

        body = {"__module__": primitive.__module__, "keys": table, "Make": Make}
        register_primitive_factory(on, interface)(type(f"{primitive.__name__}Factory", (interface,), body))
        return primitive

    return implement
