"""`implements`: the factory that it makes, and the classes that it refuses."""

import copy
import pickle

import pytest

from ep.include import DataType, DuplicateRegistrationError
from ep.include.primitive import (
    ElementwiseUnaryFactory,
    Fill,
    FillFactory,
    Gather,
    GatherFactory,
    Key,
    NewPrimitive,
    implements,
    registered,
)
from tests.include.toy import ToyFill, ToyGather

F, D, I32, I64 = DataType.kFloat, DataType.kDouble, DataType.kInt32, DataType.kInt64
KEYS = {Key(None, (F, I64)), Key(None, (D, I32))}


class Doubled(ToyGather):
    """A primitive at the top of the module, so that pickle finds it."""


def test_a_primitive_is_registered_for_its_keys(toy):
    assert implements(GatherFactory, on=toy, keys=KEYS)(Doubled) is Doubled
    assert [entry.dtypes for entry in registered(toy)] == [(F, I64), (D, I32)]
    primitive = NewPrimitive(GatherFactory, toy, "float32", "int64")
    assert type(primitive) is Doubled
    assert (primitive.request.interface, primitive.request.dtypes) == (Gather, (F, I64))
    assert NewPrimitive(GatherFactory, toy, "float32", "int32") is None
    for other in (copy.deepcopy(primitive), pickle.loads(pickle.dumps(primitive))):
        assert (type(other), other.request) == (Doubled, primitive.request)


def test_keys_may_be_any_iterable_and_plain_pairs(toy):
    implements(GatherFactory, on=toy, keys=((None, (data_type, I32)) for data_type in (F, D)))(Doubled)
    assert [entry.dtypes for entry in registered(toy)] == [(F, I32), (D, I32)]


def test_two_primitives_may_share_an_interface(toy):
    class Other(ToyGather):
        pass

    implements(GatherFactory, on=toy, keys=KEYS)(Doubled)
    implements(GatherFactory, on=toy, keys={Key(None, (F, I32))})(Other)
    assert type(NewPrimitive(GatherFactory, toy, "float32", "int32")) is Other
    with pytest.raises(DuplicateRegistrationError, match=r"OtherFactory.* registers Gather.*, as .*DoubledFactory"):
        implements(GatherFactory, on=toy, keys=KEYS)(Other)


def test_wrong_use(toy):
    for primitive in (ToyFill, ToyGather.Launch, None):
        with pytest.raises(TypeError, match="must be a class that derives from Gather"):
            implements(GatherFactory, on=toy, keys=KEYS)(primitive)
    with pytest.raises(TypeError, match="Unfinished'> must define Launch"):

        @implements(FillFactory, on=toy, keys={Key(None, (F,))})
        class Unfinished(Fill):
            pass

    with pytest.raises(TypeError, match="interface must be a factory contract such as GatherFactory, not"):
        implements(Gather, on=toy, keys=KEYS)
    with pytest.raises(TypeError, match=r"device_type must be a DeviceType such as DeviceType\.kCPU, not 'toy'"):
        implements(GatherFactory, on="toy", keys=KEYS)
    with pytest.raises(TypeError, match=r"keys must be an iterable of Key\(op or None, \(DataType, \.\.\.\)\), not 3"):
        implements(GatherFactory, on=toy, keys=3)
    with pytest.raises(TypeError, match=r"lists the key .*; it must be Key"):
        implements(GatherFactory, on=toy, keys={F})(Doubled)
    with pytest.raises(ValueError, match="keys is empty; ElementwiseUnaryFactory needs one key at least"):
        implements(ElementwiseUnaryFactory, on=toy, keys=())
    assert registered(toy) == []
