"""Run as a program with the example of a device: functions that others compute give arrays of their operands' device.

With the argument `lent`, the device has all primitives, by those of the CPU.
"""

import sys

import numpy as np
from ep_numpy_device.device import kNumpy

import ep.ops as o
from ep import DeviceType
from ep.common.arrays.on_device import arrays_on
from ep.common.host.arrays import WrappedArray
from ep.common.host.device import HostStream
from ep.include.errors import UnsupportedPrimitiveError
from ep.include.primitive.registry import _REGISTRY, implemented, register_primitive_factory, registered

X = np.array([[3, -1, 2, 5, 0], [1, 4, -2, 0, 7], [-6, 2, 2, 1, 3]], np.float32)


def above(m, x):
    """Return indices, 0 or 1."""
    return (x > 1).astype(np.int64) if m is np else o.cast(o.greater(x, 1.0), "int64")


def put(x, indices):
    result = x.copy()
    np.put_along_axis(result, indices, 9, 0)
    return result


def by_mean(x):
    """Return multiples of the mean of x, from 0 to 255 times."""
    return np.clip(np.rint(x / x.mean()), 0, 255) * x.mean()


FUNCTIONS = {
    "reshape": lambda m, x: m.reshape(x, (5, -1)),
    "reshape to no axes": lambda m, x: m.reshape(x[:1, :1] if m is np else o.slice(x, slice(0, 1), slice(0, 1)), ()),
    "squeeze": lambda m, x: m.squeeze(m.expand_dims(x, 1), 1),
    "expand_dims": lambda m, x: m.expand_dims(x, (0, -1)),
    "moveaxis": lambda m, x: m.moveaxis(x, 0, 1),
    "matrix_transpose": lambda m, x: m.matrix_transpose(x),
    "broadcast_to": lambda m, x: m.broadcast_to(x, (2, 3, 5)),
    "flip": lambda m, x: m.flip(x),
    "flip of an axis": lambda m, x: m.flip(x, 0),
    "roll": lambda m, x: m.roll(x, 4),
    "roll of an axis": lambda m, x: m.roll(x, -1, 1),
    "roll by nothing": lambda m, x: m.roll(x, 0, 1),
    "take_along_axis": lambda m, x: m.take_along_axis(x, above(m, x), axis=0),
    "scatter": lambda m, x: put(x, above(m, x)) if m is np else m.scatter(x, above(m, x), 9.0, 0),
    "index": lambda m, x: x[above(m, x), above(m, x)] if m is np else m.index(x, [above(m, x), above(m, x)]),
    "full_like": lambda m, x: m.full_like(x, 2.5),
    "zeros_like": lambda m, x: m.zeros_like(x),
    "ones_like": lambda m, x: m.ones_like(x, dtype="int64"),
    "isclose": lambda m, x: m.isclose(x, x),
    "clip": lambda m, x: m.clip(x, -1, 2),
    "hypot": lambda m, x: m.hypot(x, 4.0),
    "logaddexp": lambda m, x: m.logaddexp(x, 1.0),
    "var": lambda m, x: m.var(x),
    "var of an axis": lambda m, x: m.var(x, axis=1, keepdims=True),
    "std": lambda m, x: m.std(x, axis=0),
    "vecdot": lambda m, x: m.vecdot(x, x),
    "rms_norm": lambda m, x: m.rms_norm(x) if m is o else x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5),
    "quantize": lambda m, x: m.dequantize(m.quantize(x, m.mean(x)), m.mean(x)) if m is o else by_mean(x),
    "tensordot": lambda m, x: m.tensordot(x, x, axes=((0, 1), (0, 1))),
    "tensordot of an axis": lambda m, x: m.tensordot(m.matrix_transpose(x), x, axes=1),
}
FUNCTIONS |= {
    f"gradient of {name}": lambda m, x, name=name, inputs=inputs, attributes=attributes, expected=expected: (
        expected(x) if m is np else gradient(name, [x, *inputs], attributes)
    )
    for name, inputs, attributes, expected in (
        ("relu", [], {}, lambda x: x * (x > 0)),
        ("mul", [2.0], {}, lambda x: 4 * x),
        ("mean", [], {"axis": 0}, lambda x: np.broadcast_to(x.mean(0) / np.float32(3), x.shape)),
        ("expand", [], {"sizes": (2, 3, 5)}, lambda x: 2 * x),
        ("gather", [[2, 0]], {}, lambda x: x * np.float32([[1], [0], [1]])),
        ("matmul", [np.ones(5, np.float32)], {}, lambda x: x.sum(1, keepdims=True) * np.ones_like(x)),
    )
}


def gradient(name, inputs, attributes):
    """Return the gradient of the first input, where that of the result is the result."""
    inputs = [one if isinstance(one, WrappedArray | float) else o.copy_to_device(one, "numpy") for one in inputs]
    sizes = attributes.get("sizes")
    result = o.expand(inputs[0], sizes) if sizes else getattr(o, name)(*inputs, **attributes)
    return o.vjp(name, inputs, attributes, None, result)[0]


def lend():
    """Register all primitives of the CPU that the device lacks, which then launch on the CPU's stream."""
    stream = arrays_on(DeviceType.kCPU).stream
    have = {(one.interface, one.op, one.dtypes) for one in registered(kNumpy)}

    def launching(launch):
        def on_the_cpu(self, given, *args, **kwargs):
            assert isinstance(given, HostStream)
            return launch(self, stream, *args, **kwargs)

        return on_the_cpu

    def make(self, request):
        serving = [one for one in self.factories if request.dtypes is None or (request.op, request.dtypes) in one.keys]
        lent = type(serving[0].Make(request))
        launches = {name: launching(getattr(lent, name)) for name in dir(lent) if name.startswith("Launch")}
        return type("Lent", (lent,), launches)(request)

    for interface in implemented(DeviceType.kCPU):
        factories = _REGISTRY.of(interface, DeviceType.kCPU)
        keys = {key for one in factories for key in one.keys if (interface.primitive, *key) not in have}
        body = {"factories": factories, "keys": frozenset(keys), "Make": make, "__module__": __name__}
        register_primitive_factory(kNumpy, interface)(type("Lending", (interface,), body))


x = o.copy_to_device(X, "numpy")
if "lent" in sys.argv:
    lend()
for name, function in FUNCTIONS.items():
    try:
        found = function(o, x)
    except UnsupportedPrimitiveError as error:
        if " on numpy is not supported: " not in str(error):
            raise
        print(f"{name}: lacks")
        continue
    assert type(found) is WrappedArray, (name, type(found))
    expected = function(np, X)
    assert (tuple(found.shape), found.dtype) == (expected.shape, expected.dtype), name
    np.testing.assert_allclose(o.copy_to_host(found), expected, rtol=1e-6, err_msg=name)
    assert found is not x
    print(f"{name}: agrees")
