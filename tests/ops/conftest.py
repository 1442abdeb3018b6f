"""Operators on the device under test, from and to the host."""

from functools import partial

import numpy as np
import pytest

import ep.ops


@pytest.fixture(scope="session")
def on_device(device):
    """A function that copies an array to the device under test; `ep.ops.copy_to_host` copies results back."""
    return partial(ep.ops.copy_to_device, device_type=device.type)


@pytest.fixture(scope="session")
def gather(on_device):
    """A function that computes `ep.ops.gather` of host arrays on the device under test, and returns a host array."""

    def gather(params, indices, *args, **kwargs):
        return ep.ops.copy_to_host(ep.ops.gather(on_device(params), on_device(indices), *args, **kwargs))

    return gather


@pytest.fixture(scope="session")
def expand(on_device):
    """A function that computes `ep.ops.expand` of host arrays on the device under test, and returns a host array."""
    return lambda x, *sizes: ep.ops.copy_to_host(ep.ops.expand(on_device(x), *sizes))


@pytest.fixture(scope="session")
def repeat(on_device):
    """A function that computes `ep.ops.repeat` of host arrays on the device under test, and returns a host array."""
    return lambda x, *sizes: ep.ops.copy_to_host(ep.ops.repeat(on_device(x), *sizes))


@pytest.fixture(scope="session")
def elementwise(on_device):
    """A function that calls the function of an op by its name; it passes Python numbers unchanged."""

    def elementwise(name, *operands, **attributes):
        placed = [x if type(x) in (bool, int, float, complex) else on_device(x) for x in operands]
        return ep.ops.copy_to_host(getattr(ep.ops, name)(*placed, **attributes))

    return elementwise


@pytest.fixture(scope="session")
def operate(on_device):
    """A function that calls any function of `ep.ops` by its name. It copies ndarrays, also those in lists, to the
    device, and passes other arguments, and `out`, unchanged.
    """

    def placed(value):
        if isinstance(value, list):
            return [placed(one) for one in value]
        return on_device(value) if isinstance(value, np.ndarray) else value

    def operate(name, *operands, **options):
        options = {key: one if key == "out" else placed(one) for key, one in options.items()}
        result = getattr(ep.ops, name)(*map(placed, operands), **options)
        return [ep.ops.copy_to_host(one) for one in result] if isinstance(result, list) else ep.ops.copy_to_host(result)

    return operate
