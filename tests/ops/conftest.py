"""Operators on the device under test, from and to the host."""

from functools import partial

import pytest

import ep.ops


@pytest.fixture(scope="session")
def on_device(device):
    """What copies an array to the device under test; `ep.ops.copy_to_host` brings results back."""
    return partial(ep.ops.copy_to_device, device_type=device.type)


@pytest.fixture(scope="session")
def gather(on_device):
    """`ep.ops.gather` of arrays on the host, on the device under test."""

    def gather(params, indices, *args, **kwargs):
        return ep.ops.copy_to_host(ep.ops.gather(on_device(params), on_device(indices), *args, **kwargs))

    return gather


@pytest.fixture(scope="session")
def expand(on_device):
    """`ep.ops.expand` alike."""
    return lambda x, *sizes: ep.ops.copy_to_host(ep.ops.expand(on_device(x), *sizes))


@pytest.fixture(scope="session")
def repeat(on_device):
    """`ep.ops.repeat` alike."""
    return lambda x, *sizes: ep.ops.copy_to_host(ep.ops.repeat(on_device(x), *sizes))


@pytest.fixture(scope="session")
def elementwise(on_device):
    """The function of an op, by its name: Python numbers go with the call as they are."""

    def elementwise(name, *operands, **attributes):
        placed = [x if type(x) in (bool, int, float, complex) else on_device(x) for x in operands]
        return ep.ops.copy_to_host(getattr(ep.ops, name)(*placed, **attributes))

    return elementwise
