"""What every installed device owes to the contracts, whether or not its hardware is here."""

import inspect

import pytest

from ep.include import primitive as primitives
from ep.include.primitive import BlasTransposeType, Entry, Factory, NewPrimitive, Primitive, registered
from ep.include.primitive.attributes import ATTRIBUTES


def factory(entry: Entry) -> type[Factory[Primitive]]:
    return getattr(primitives, f"{entry.interface.__name__}Factory")


def arguments(entry: Entry) -> dict[str, object]:
    """New's arguments for a registered key."""
    dtypes = iter(entry.dtypes)
    values = dict(zip(("attr0", "attr1"), (a.default or 0.5 for a in ATTRIBUTES.get(entry.op, ())), strict=False))
    given = {}
    for name in list(inspect.signature(factory(entry).New).parameters)[1:]:
        if name in ("op", "kind"):
            given[name] = entry.op
        elif name.startswith("attr"):
            given[name] = values.get(name)
        elif name.startswith("transpose"):
            given[name] = BlasTransposeType.T
        else:
            given[name] = 5 if name == "max_num_dims" else next(dtypes)
    return given


def parameters(interface: type[Primitive]) -> list[tuple[str, object, object]]:
    return [(p.name, p.kind, p.default) for p in inspect.signature(interface.Launch).parameters.values()]


ENTRIES = registered()


@pytest.mark.parametrize("name", sorted({entry.interface.__name__ for entry in ENTRIES}))
def test_every_registered_key_is_served_with_the_contracts_signature(device, name):
    entries = [entry for entry in ENTRIES if (entry.device_type, entry.interface.__name__) == (device.type, name)]
    assert entries
    for entry in entries:
        primitive = NewPrimitive(factory(entry), entry.device_type, **arguments(entry))
        assert isinstance(primitive, entry.interface), entry
        assert parameters(type(primitive)) == parameters(entry.interface), type(primitive)
        assert name in repr(primitive)
        assert all(data_type.name in repr(primitive) for data_type in entry.dtypes if primitive.request.dtypes)
