"""The set of device types, which packages can extend."""

import copy
import pickle

import pytest

from ep.include import DeviceType, DuplicateRegistrationError


def test_own_members():
    assert [member.name for member in DeviceType][:2] == ["kCPU", "kCUDA"]
    assert (DeviceType.kCPU.tag, DeviceType.kCUDA.tag) == ("cpu", "cuda")
    assert repr(DeviceType.kCPU) == "DeviceType.kCPU"


def test_from_tag():
    assert DeviceType.FromTag("cpu") is DeviceType.kCPU
    with pytest.raises(ValueError, match=r"device 'cpuu' is not known; did you mean 'cpu'\?"):
        DeviceType.FromTag("cpuu")
    with pytest.raises(ValueError, match=r"device 'gpu' is not known \(known: cpu, cuda"):
        DeviceType.FromTag("gpu")


def test_register_adds_a_member(toy):
    assert DeviceType.kToy is toy is DeviceType.FromTag("toy") is DeviceType.Register("kToy", "toy")
    assert toy in DeviceType


@pytest.mark.parametrize(("name", "tag"), [("kToy", "other"), ("kOther", "toy"), ("kCPU", "processor")])
def test_name_and_tag_belong_to_one(toy, name, tag):
    with pytest.raises(DuplicateRegistrationError, match="clashes with"):
        DeviceType.Register(name, tag)


@pytest.mark.parametrize(
    ("name", "tag"), [("Foo", "foo"), ("kfoo", "foo"), ("k", "foo"), ("kFoo", "Foo"), ("kFoo", "")]
)
def test_form_of_names(name, tag):
    with pytest.raises(ValueError, match="it must be"):
        DeviceType.Register(name, tag)


def test_unknown_attribute():
    with pytest.raises(AttributeError, match=r"no DeviceType.kCpu; did you mean 'kCPU' or"):
        _ = DeviceType.kCpu
    assert not hasattr(DeviceType, "kBar")
    assert not hasattr(DeviceType, "cpu")


def test_members_are_singletons():
    for again in (copy.copy, copy.deepcopy, lambda member: pickle.loads(pickle.dumps(member))):
        assert again(DeviceType.kCUDA) is DeviceType.kCUDA


def test_members_are_fixed():
    with pytest.raises(AttributeError, match="cannot be changed"):
        DeviceType.kCPU.tag = "gpu"
    with pytest.raises(TypeError, match="Register"):
        DeviceType()
