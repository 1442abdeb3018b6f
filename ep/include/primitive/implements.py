"""A device's primitive and its table of keys, in one line: `implements` makes the factory, and registers it."""

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
    """Class decorator: register the decorated primitive as what `interface` makes on a device type, for `keys`.

    interface: a contract such as GatherFactory; the decorated class derives from what it makes, here Gather, and takes
        a Request alone.
    on: the device type.
    keys: what the primitive is made for, one key at least. A device may have several primitives of one interface as
        long as their keys differ.

    It makes a factory with the table `keys`, whose Make calls the class, and gives it to `register_primitive_factory`,
    which is there for a factory that looks up its keys in another way. Raises TypeError for a class that does not
    implement the interface, ValueError if there are no keys, and what `register_primitive_factory` raises.
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
