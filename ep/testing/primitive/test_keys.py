"""The requirements on every registered key, whether or not a test module of its primitive exists."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import pytest

from ep import NewPrimitive, RequirePrimitive, UnsupportedPrimitiveError
from ep.include import DataType
from ep.include.primitive import BlasTransposeType, Entry, Factory, kMaxNumDims, registered
from ep.include.primitive.op_table import attributes_of
from ep.testing.coverage import ALL
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import needs_one_of

each_contract = pytest.mark.parametrize(
    "factory", [pytest.param(factory, marks=needs_one_of(factory), id=factory.primitive.__name__) for factory in ALL]
)


def arguments(factory: type[Factory[Any]], entry: Any, max_num_dims: int) -> Any:
    """Return New's arguments for a registered key."""
    dtypes = iter(entry.dtypes)
    values = dict(zip(("attr0", "attr1"), (a.default or 0.5 for a in attributes_of(entry.op)), strict=False))
    given = {}
    for name, parameter in list(inspect.signature(factory.New).parameters.items())[1:]:
        if parameter.kind is parameter.KEYWORD_ONLY:
            continue
        if name in ("op", "kind"):
            given[name] = entry.op
        elif name.startswith("attr"):
            given[name] = values.get(name)
        elif name.startswith("transpose"):
            given[name] = BlasTransposeType.T
        else:
            given[name] = max_num_dims if name == "max_num_dims" else next(dtypes)
    return given


def parameters(interface: Any) -> Any:
    """Return the parameters of Launch without self, which a method of compiled code has as a positional-only one."""
    _, *given = inspect.signature(interface.Launch).parameters.values()
    return [(p.name, p.kind, p.default) for p in given]


def entries(device: DeviceUnderTest, factory: type[Factory[Any]]) -> Any:
    return [entry for entry in registered(device.type) if entry.interface is factory.primitive]


@each_contract
def test_every_registered_key_is_served_with_the_contracts_signature(
    device: DeviceUnderTest, factory: type[Factory[Any]]
) -> None:
    for entry in entries(device, factory):
        primitive = NewPrimitive(factory, entry.device_type, **arguments(factory, entry, 5))
        assert isinstance(primitive, entry.interface), entry
        assert parameters(type(primitive)) == parameters(entry.interface), type(primitive)


@each_contract
def test_a_primitive_tells_what_it_was_made_for(device: DeviceUnderTest, factory: type[Factory[Any]]) -> None:
    for entry in entries(device, factory):
        primitive = RequirePrimitive(factory, entry.device_type, **arguments(factory, entry, kMaxNumDims))
        assert primitive.request.op is entry.op
        assert primitive.request.dtypes in (None, entry.dtypes)
        assert factory.primitive.__name__ in repr(primitive)
        assert all(data_type.name in repr(primitive) for data_type in entry.dtypes if primitive.request.dtypes)


def unregistered(device: DeviceUnderTest, factory: type[Factory[Any]]) -> Any:
    """Return New's arguments for a key that the device does not list, None if it lists all."""
    listed = entries(device, factory)
    for dtypes in itertools.product(DataType, repeat=len(listed[0].dtypes)):
        entry = Entry(factory.primitive, listed[0].op, dtypes, device.type)
        if entry not in listed:
            return arguments(factory, entry, 5)
    return None


@each_contract
def test_a_key_that_is_not_registered_is_none(device: DeviceUnderTest, factory: type[Factory[Any]]) -> None:
    takes = inspect.signature(factory.New).parameters
    beyond = [arguments(factory, entries(device, factory)[0], kMaxNumDims + 1)] if "max_num_dims" in takes else []
    if "data_type" in takes or "src_type" in takes or "params_type" in takes:
        beyond += [given for given in [unregistered(device, factory)] if given]
    for given in beyond:
        assert NewPrimitive(factory, device.type, **given) is None
        with pytest.raises(UnsupportedPrimitiveError):
            RequirePrimitive(factory, device.type, **given)
