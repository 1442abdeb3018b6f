"""The registry of primitives, and the functions that look up primitives in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property, partial
from importlib import import_module
from typing import Any, Final, TypeVar

from ep.include.additions import note_addition
from ep.include.data_type import DataType
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType, load_all_providers, load_own_provider, load_provider
from ep.include.errors import ArgumentTypeError, DuplicateRegistrationError, UnsupportedPrimitiveError
from ep.include.primitive.primitive import Factory, P, Request, kMaxNumDims
from ep.include.process import Rank, exclusively, new_lock
from ep.include.shown import shown

F = TypeVar("F", bound=type[Factory[Any]])


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered key: the primitive's interface, its op (or None), its data types and its device type."""

    interface: type[Any]
    op: Enum | None
    dtypes: tuple[DataType, ...]
    device_type: DeviceType

    def __str__(self) -> str:
        return f"{Request(self.interface, self.op, self.dtypes)} on {self.device_type.tag}"


class _Table:
    """The keys that one factory has registered."""

    def __init__(self, primitive: type[Any], device_type: DeviceType, factory: Factory[Any]) -> None:
        for key in factory.keys:
            _check_key(key, factory)
        self.primitive, self.device_type, self.factory = primitive, device_type, factory
        self.keys: dict[Any, None] = dict.fromkeys(factory.keys)  # of a set, the keys are not hashed again

    def repeated(self, others: Iterable[_Table]) -> tuple[Any, Factory[Any]] | None:
        """Return the first key that is in this table twice or also in another one, and the factory that had it."""
        found = {key: other.factory for other in others for key in self.keys.keys() & other.keys.keys()}
        if len(self.keys) < len(self.factory.keys):
            found |= {key: self.factory for key, times in Counter(self.factory.keys).items() if times > 1}
        return min(found.items(), key=lambda one: _place(one[0])) if found else None

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The keys, sorted: the order of a set differs between runs."""
        return tuple(self.entry(key) for key in sorted(self.keys, key=_place))

    def entry(self, key: Any) -> Entry:
        op, dtypes = key
        return Entry(self.primitive, op, dtypes, self.device_type)


class _Registry:
    """The factories by contract and device type, and the tables of all of them in the order of registration."""

    def __init__(self) -> None:
        self.factories: dict[tuple[type[Factory[Any]], DeviceType], list[Factory[Any]]] = {}
        self.tables: list[_Table] = []
        self.modules: dict[tuple[str, DeviceType], str] = {}  # those that are imported when a contract is asked for
        self.lock = new_lock(Rank.TABLE)

    def add(self, device_type: DeviceType, interface: type[Factory[Any]], factory: Factory[Any]) -> None:
        table = _Table(interface.primitive, device_type, factory)
        with self.lock:
            repeated = table.repeated(
                other
                for other in self.tables
                if other.primitive is table.primitive and other.device_type is device_type
            )
            if repeated is not None:
                key, owner = repeated
                raise DuplicateRegistrationError(f"{factory!r} registers {table.entry(key)}, as {owner!r} did")
            self.tables.append(table)
            self.factories.setdefault((interface, device_type), []).append(factory)
        note_addition(type(factory), device_type)

    def of(self, interface: type[Factory[Any]], device_type: DeviceType) -> Sequence[Factory[Any]]:
        """Return the factories of a contract on a device type, whose provider has been loaded."""
        self.load(interface.__module__, device_type)
        return self.factories.get((interface, device_type), ())

    def load(self, contract: str, device_type: DeviceType) -> None:
        """Import the module that registers the factory of the contract in the module `contract`."""
        module = self.modules.get((contract, device_type))
        if module is not None:
            exclusively(lambda: import_module(module))  # another thread waits until the factory is registered
            self.modules.pop((contract, device_type), None)

    def load_all(self) -> None:
        """Import all modules that register factories."""
        for contract, device_type in tuple(self.modules):
            self.load(contract, device_type)


_DATA_TYPES: Final = frozenset([DataType])


def _check_key(key: Any, factory: Factory[Any]) -> None:
    """Raise TypeError for anything but a Key or a plain pair."""
    match key:
        case (None | Enum(), tuple(dtypes)) if _DATA_TYPES.issuperset(map(type, dtypes)):
            return
    raise TypeError(f"{factory!r} lists the key {key!r}; it must be Key(op or None, (DataType, ...))")


def _place(key: Any) -> tuple[bool, Any, list[int]]:
    """Return what keys are sorted by: those without an op come first."""
    op, dtypes = key
    return op is not None, op and op.value, [data_type.value for data_type in dtypes]


_REGISTRY: Final = _Registry()


def register_primitive_factory(device_type: DeviceType, interface: type[Factory[Any]]) -> Callable[[F], F]:
    """Class decorator: register the decorated factory as the one of `device_type` for `interface`.

    interface: a contract such as GatherFactory; the decorated class derives from it.
    A device may have several factories for one interface if their keys differ.
    Raises TypeError for a class that does not implement the interface or lists anything but Keys, and
    DuplicateRegistrationError if a key is registered already.
    """
    check_contract(interface, device_type)

    def register(factory: F) -> F:
        if not (isinstance(factory, type) and issubclass(factory, interface)):
            raise TypeError(f"{factory!r} must be a class that derives from {interface.__name__}")
        if _REGISTRY.modules.get((interface.__module__, device_type)) != factory.__module__:
            load_own_provider(device_type.tag)
            _REGISTRY.load(interface.__module__, device_type)  # first: this factory is the one that repeats a key
        if factory.keys and factory.Make is Factory.Make and factory.New is interface.New:
            raise TypeError(f"{factory!r} lists keys; it must define Make")
        _REGISTRY.add(device_type, interface, factory())
        return factory

    return register


def register_primitive_package(device_type: DeviceType, package: str) -> None:
    """Let the modules of `package` register the factories of a device when these are first asked for.

    For each module of `ep.include.primitive` that has a contract, the package has one of the same name.
    """
    contracts = (one.__module__ for one in Factory.__subclasses__() if one.__module__.startswith(f"{__package__}."))
    _REGISTRY.modules |= {(one, device_type): f"{package}{one.removeprefix(__package__)}" for one in contracts}


def registered(device_type: DeviceType | None = None) -> list[Entry]:
    """Return every registered key, of one device type or of all.

    In order of device types, as DeviceType lists them, then of the primitives' names, of registration, op and dtypes.
    Nothing is compiled and no device is needed; the packages that register keys are imported.
    """
    if device_type is None:
        load_all_providers()
    else:
        _check_device_type(device_type)
        load_provider(device_type.tag)
    _REGISTRY.load_all()
    tables = sorted(_REGISTRY.tables, key=lambda table: table.primitive.__name__)
    entries = [entry for table in tables for entry in table.entries]
    if device_type is not None:
        return [entry for entry in entries if entry.device_type is device_type]
    places = {one: place for place, one in enumerate(DeviceType)}
    return sorted(entries, key=lambda entry: places[entry.device_type])


def implemented(device_type: DeviceType) -> list[type[Factory[Any]]]:
    """Return the contracts that a device type has a factory for, also a factory that lists no keys; sorted by name.

    Nothing is compiled and no device is needed; the package that registers them is imported.
    """
    _check_device_type(device_type)
    load_provider(device_type.tag)
    _REGISTRY.load_all()
    contracts = (interface for interface, owner in tuple(_REGISTRY.factories) if owner is device_type)
    return sorted(contracts, key=lambda interface: interface.__name__)


def NewPrimitive(interface: type[Factory[P]], device_type: DeviceType, *args: Any, **kwargs: Any) -> P | None:
    """Return a primitive for the key that the arguments name, or None if no factory supports it.

    interface: a factory contract such as GatherFactory.
    device_type: the type of device on which the primitive is to run.
    args, kwargs: the arguments of `interface.New`.

    It looks the key up and does nothing else, so kernel selection may use it as a test: the first Launch, or Prepare,
    compiles. Also returns None if the device is not present. Raises TypeError and ValueError for malformed arguments.
    """
    request = request_for(interface, device_type, *args, **kwargs)
    manager = DeviceManagerRegistry.GetDeviceManagerOrNull(device_type)
    if manager is not None and manager.GetDeviceCount() == 0:
        return None
    for factory in _REGISTRY.of(interface, device_type):
        # a factory that uses the contract's own New needs no second check of the arguments
        looks_up = type(factory).New is interface.New
        primitive: P | None = factory.Select(request) if looks_up else factory.New(*args, **kwargs)
        if primitive is not None:
            return primitive
    return None


def RequirePrimitive(interface: type[Factory[P]], device_type: DeviceType, *args: Any, **kwargs: Any) -> P:
    """Return the primitive that `NewPrimitive` with the same arguments returns.

    If that is None, raises UnsupportedPrimitiveError with the key, the reason, and the nearest registered keys.
    """
    primitive = NewPrimitive(interface, device_type, *args, **kwargs)
    if primitive is None:
        request = request_for(interface, device_type, *args, **kwargs)
        raise UnsupportedPrimitiveError(partial(_why_unsupported, interface, device_type, request))
    return primitive


def check_contract(interface: Any, device_type: Any) -> None:
    # a contract derives from Factory directly; a device's factory derives from a contract
    if not (isinstance(interface, type) and Factory in interface.__bases__):
        raise ArgumentTypeError(
            "interface", f"must be a factory contract such as GatherFactory, not {shown(interface)}"
        )
    _check_device_type(device_type)


def _check_device_type(device_type: Any) -> None:
    if not isinstance(device_type, DeviceType):
        raise ArgumentTypeError(
            "device_type", f"must be a DeviceType such as DeviceType.kCPU, not {shown(device_type)}"
        )


class _Checks:
    """A base class that makes a contract, which has no table, into one whose New returns the checked request."""

    def Select(self, request: Request) -> Request:
        return request


@cache
def _checks(interface: type[Factory[Any]]) -> Any:
    return type(f"{interface.__name__}Checks", (_Checks, interface), {})()


def request_for(interface: Any, device_type: Any, *args: Any, **kwargs: Any) -> Request:
    """Return the request of `NewPrimitive` with the same arguments, which the contract alone checks."""
    check_contract(interface, device_type)
    new = _checks(interface).New
    try:
        request: Request = new(*args, **kwargs)
    except TypeError:
        _check_call(interface, new, args, kwargs)
        raise
    return request


def _check_call(interface: type[Factory[Any]], new: Any, args: Any, kwargs: Any) -> None:
    """Raise TypeError, with the names of all arguments, if there are too few or too many of them."""
    inspect = exclusively(lambda: import_module("inspect"))  # not at the top: only errors need it
    signature = inspect.signature(new)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{interface.__name__} takes {', '.join(signature.parameters)}: {error}") from None


def _why_unsupported(interface: type[Factory[Any]], device_type: DeviceType, request: Request) -> str:
    """Return the first reason that holds, in the order device, primitive, dims, op, data types."""
    name, tag = request.interface.__name__, device_type.tag
    manager = DeviceManagerRegistry.GetDeviceManagerOrNull(device_type)
    here = [entry for entry in registered(device_type) if entry.interface is request.interface]
    with_op = [entry for entry in here if entry.op is request.op]
    elsewhere = sorted({entry.device_type.tag for entry in registered() if _serves(entry, request)} - {tag})
    if manager is not None and manager.GetDeviceCount() == 0:
        why = f"the device is absent: {manager.WhyUnavailable()}"
    elif (interface, device_type) not in _REGISTRY.factories:
        why = f"no factory on {tag} makes {name}" if manager else f"no installed package provides {tag!r} devices"
    elif request.max_num_dims is not None and request.max_num_dims > kMaxNumDims:
        why = f"max_num_dims is {request.max_num_dims}, and at most {kMaxNumDims} dims are possible"
    elif request.op is not None and here and not with_op:
        why = f"{name} has no {request.op.name} on {tag}; nearest: {_nearest(request, here)}"
    elif with_op:
        why = f"its data types are not registered on {tag}; nearest: {_nearest(request, with_op)}"
    else:
        why = f"the factory on {tag} does not make it"
    hint = f"; it is registered on {', '.join(elsewhere)}" if elsewhere else ""
    return f"{request} on {tag} is not supported: {why}{hint}"


def _serves(entry: Entry, request: Request) -> bool:
    same_primitive = entry.interface is request.interface and entry.op is request.op
    return same_primitive and request.dtypes in (None, entry.dtypes)


def _nearest(request: Request, entries: Iterable[Entry]) -> str:
    """Return the three registered keys most similar to the request."""
    difflib = exclusively(lambda: import_module("difflib"))  # not at the top: only errors need it

    def likeness(entry: Entry) -> tuple[float, int]:
        same = sum(a is b for a, b in zip(entry.dtypes, request.dtypes or (), strict=False))
        names = (entry.op.name.casefold(), request.op.name.casefold()) if entry.op and request.op else ("", "")
        return difflib.SequenceMatcher(None, *names).ratio(), same

    return ", ".join(str(entry) for entry in sorted(entries, key=likeness, reverse=True)[:3])
