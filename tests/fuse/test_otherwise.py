"""Fused functions on a device that lacks kernels: another device computes what needs them."""

import pytest

import ep
from ep import ops
from tests.beside import TANH

MIXED = """
def mixed(x, w):
    kept = ops.relu(x)                            # on the device
    product = ops.matmul(kept, w)                 # elsewhere
    turned = ops.negative(product)                # on the device
    last = ops.tanh(turned) + product             # elsewhere
    return {"root": ops.sqrt(ops.relu(last)), "sum": ops.sum(last) * 2.0, "kept": kept, "same": x}

rng = np.random.default_rng(SEED)
x, w = rng.standard_normal((5, 7), np.float32), rng.standard_normal((7, 3), np.float32)
given = [ops.copy_to_device(one, TAG) for one in (x, w)]
fused = ep.fuse(mixed, otherwise="cpu")
"""


def test_results_are_on_the_device_and_have_the_bits_of_the_operators(run_beside, rng):
    run_beside(
        f"SEED = {rng.integers(2**31)}\n{MIXED}"
        + """
for number in (1.0, -3.0):
    given[0].array[:] *= number
    found, expected = fused(*given), mixed(given[0].array, w)
    assert found.keys() == expected.keys()
    for name, one in found.items():
        assert isinstance(one, NumpyArray), name
        np.testing.assert_array_equal(ops.copy_to_host(one), expected[name], name)
"""
    )


def test_random_graphs_have_the_bits_of_the_operators(run_beside, rng):
    run_beside(
        f"""
from tests.fuse.test_random_graphs import Graph, bits
for number in range(5):
    rng = np.random.default_rng([{rng.integers(2**31)}, number])
    types = [ep.DataType.kFloat, ep.DataType.kFloat, ep.DataType.kDouble, ep.DataType.kInt64]
    graph = Graph(rng, 9, types=types, row_share=0.1, product_share=0.1, index_share=0.2)
    leaves = [np.ascontiguousarray(one) for one in graph.leaves]
    expected = graph.rerun(*leaves)
    fused = ep.fuse(graph.rerun, otherwise="cpu", round_each=True)
    for _ in range(2):
        found = fused(*[ops.copy_to_device(one, "numpy") for one in leaves])
        for one, other in zip(found, expected, strict=True):
            assert bits(ops.copy_to_host(one)) == bits(ops.copy_to_host(other)), (number, graph.calls)
"""
    )


def test_results_that_share_memory_with_others_are_copied_by_the_other_device(run_beside):
    run_beside(
        """
def shared(x):
    last = ops.tanh(ops.relu(x))
    return ops.reshape(x, (-1,)), last, ops.reshape(last, (7, 5))

x = np.arange(-15, 20, dtype=np.float32).reshape(5, 7)
fused, expected = ep.fuse(shared, otherwise="cpu"), shared(x)
for _ in range(3):
    given = ops.copy_to_device(x, "numpy")
    found = fused(given)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ops.copy_to_host(one), other)
    for one in found:
        one.array[...] = 99  # changes no other array
        np.testing.assert_array_equal(given.array, x)
    assert all(np.all(one.array == 99) for one in found)
    kept = [one.array for one in found]
    assert not any(np.shares_memory(one, other) for k, one in enumerate(kept) for other in kept[:k])
assert "identity" in fused.explain(given)
"""
    )


def test_arrays_are_copied_at_borders_only_and_once(run_beside):
    run_beside(
        "SEED = 3\n"
        + MIXED
        + """
def chained(x):
    first = ops.tanh(ops.relu(x)) + x             # relu is copied there, and x
    second = ops.tanh(ops.sqrt(first)) - first    # sqrt is copied there; first has been there
    return ops.negative(second), second

fused, copies = ep.fuse(chained, otherwise="cpu"), []
fused(given[0])
for name in ("copy_to_host", "copy_from_host"):
    def counted(self, array, name=name, method=getattr(NumpyArrays, name)):
        copies.append((name, array.shape))
        return method(self, array)
    setattr(NumpyArrays, name, counted)
fused(given[0])
there, back = ("copy_to_host", (5, 7)), ("copy_from_host", (5, 7))
assert sorted(copies) == sorted([there, there, back, there, back]), copies
"""
    )


def test_gradients(run_beside):
    run_beside(
        """
def loss(x, w):
    return ops.mean(ops.square(ops.relu(ops.matmul(x, w))))

rng = np.random.default_rng(5)
x, w = rng.standard_normal((5, 7), np.float32), rng.standard_normal((7, 3), np.float32)
expected = ep.value_and_grad(loss, (0, 1))(x, w)
found = ep.fuse(ep.value_and_grad(loss, (0, 1)), otherwise="cpu")(*[ops.copy_to_device(one, "numpy") for one in (x, w)])
for one, other in zip([found[0], *found[1]], [expected[0], *expected[1]], strict=True):
    np.testing.assert_allclose(ops.copy_to_host(one), other, 1e-6, 1e-7)
"""
    )


def test_errors_of_both_devices_are_errors_of_the_call(run_beside):
    run_beside(
        "SEED = 3\n"
        + MIXED
        + """
from ep_numpy_device.primitives import NumpyUnary
launch, expected = NumpyUnary.Launch, ops.copy_to_host(fused(*given)["root"])
def lost(self, *args):
    raise RuntimeError("the device is lost")
NumpyUnary.Launch = lost
try:
    ep.fuse(mixed, otherwise="cpu")(*given)
except RuntimeError as error:
    assert str(error) == "the device is lost"
else:
    raise AssertionError
NumpyUnary.Launch = launch
np.testing.assert_array_equal(ops.copy_to_host(fused(*given)["root"]), expected)

chosen = ep.fuse(lambda x, i: ops.relu(ops.gather(ops.tanh(x), i, axis=1)), otherwise="cpu")
for index in (6, 7):
    indices = ops.copy_to_device(np.array([index]), "numpy")
    try:
        assert chosen(given[0], indices).shape == (5, 1)
    except IndexError:
        assert index == 7
    else:
        assert index == 6
"""
    )


def test_threads(run_beside):
    run_beside(
        "SEED = 3\n"
        + MIXED
        + """
from concurrent.futures import ThreadPoolExecutor
expected = mixed(x, w)
with ThreadPoolExecutor(4) as pool:
    for found in pool.map(lambda _: fused(*given), range(24)):
        np.testing.assert_array_equal(ops.copy_to_host(found["root"]), expected["root"])
"""
    )


def test_explain_says_what_is_computed_where_and_why(run_beside):
    text = run_beside(f"SEED = 3\n{MIXED}\nprint(fused.explain(*given))")
    lines = text.splitlines()
    assert any("copy to the host" in one and "84 bytes" in one for one in lines), text  # w
    assert sum("computed on the host" in one for one in lines) == 2, text
    assert any("matmul has no kernel" in one for one in lines), text
    assert any("map kernel of tanh add" in one for one in lines), text


def test_explain_has_all_copies_and_launches(run_on_example):
    run_on_example(
        "SEED = 3\n"
        + MIXED
        + """
from tests.borders import counting, said
for _ in range(2):
    with counting(TAG) as counts:
        found = fused(*given)
for name, other in mixed(x, w).items():
    np.testing.assert_allclose(ops.copy_to_host(found[name]), other, 0, BOUND * abs(other).max())
assert counts.launches and counts == said(fused.explain(*given), TAG), counts
"""
    )


def test_a_reshape_that_copies_is_an_error(run_beside):
    """A view is made before its memory is written."""
    run_beside(
        """
class Buffer:
    def __init__(self, shape):
        self.shape, self.address = shape, id(self)

    def reshape(self, shape):
        return Buffer(shape)

from ep.run.loop import view_of
from ep.run.steps import View
try:
    view_of(None, Buffer((2, 3)), View(None, (3, 2)))
except TypeError as error:
    assert "Buffer.reshape returned other memory" in str(error), error
else:
    raise AssertionError
"""
    )


def test_without_another_device_an_error_lists_all_that_lacks(run_beside):
    run_beside(
        "SEED = 3\n"
        + MIXED
        + """
try:
    ep.fuse(mixed)(*given)
except ep.UnsupportedPrimitiveError as error:
    head, *lines = str(error).splitlines()
    assert head == 'numpy lacks kernels; with otherwise="cpu", the CPU computes what needs them:'
    assert [line.split()[0] for line in lines] == ["matmul", "tanh", "add", "sum", "mul"], lines
else:
    raise AssertionError
"""
    )


def test_the_same_device_changes_nothing(rng):
    x = rng.standard_normal((3, 5))
    fused = ep.fuse(lambda x: ops.tanh(x) + 1.0, otherwise="cpu")
    assert fused(x).tobytes() == ep.fuse(lambda x: ops.tanh(x) + 1.0)(x).tobytes()
    assert "copy" not in fused.explain(x)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ("cqu", ValueError, "otherwise 'cqu' is not known; did you mean 'cpu'"),
        (3, TypeError, "otherwise must be a DeviceType or its tag, such as 'cpu', not 3"),
    ],
)
def test_wrong_devices(given, error, message):
    with pytest.raises(error, match=message):
        ep.fuse(ops.relu, otherwise=given)


def test_a_device_that_is_not_present_is_an_error_of_the_argument(run_beside):
    run_beside(
        """
from ep import DeviceManagerRegistry, DeviceType, DeviceUnavailableError
from ep.common.host.device import HostDeviceManager

class Manager(HostDeviceManager):
    def GetDeviceCount(self):
        return 0

absent = DeviceType.Register("kAbsent", "absent")
DeviceManagerRegistry.RegisterDeviceManagerFactory(absent, lambda: Manager(absent))
try:
    ep.fuse(ops.tanh, otherwise="absent")(ops.copy_to_device(np.ones(3), "numpy"))
except DeviceUnavailableError as error:
    assert str(error) == "otherwise is absent, which is not present: no absent device was found", error
else:
    raise AssertionError
"""
    )


def test_a_number_that_a_function_returns_is_an_array(run_beside):
    run_beside(
        """
for options in ({}, {"otherwise": "cpu"}):
    fused = ep.fuse(lambda x, rate: (ops.relu(x), rate), **options)
    for _ in range(2):
        _, number = fused(ops.copy_to_device(np.ones((2, 3), np.float32), "numpy"), np.float32(3.0))
        assert isinstance(number, NumpyArray) and ops.copy_to_host(number) == 3.0
"""
    )


def test_kernels_that_are_registered_later_compute_the_next_call(run_beside):
    """A primitive of the device, a kernel of one operator, and a call that has begun meanwhile."""
    run_beside(
        TANH
        + """
from ep.ops.kernels import Kernel, device_type, register_kernel
traced = []

def function(x):
    traced.append(x)
    return ops.negative(ops.tanh(x)), ops.negative(ops.square(x))

x = np.arange(-3, 4, dtype=np.float32)
given, fused = ops.copy_to_device(x, "numpy"), ep.fuse(function, otherwise="cpu")

def check():
    for one, other in zip(fused(given), function(x), strict=True):
        np.testing.assert_allclose(ops.copy_to_host(one), other, 1e-6)

check(), check()
assert len(traced) == 3
assert "tanh" in fused.explain(given) and "computed on the host" in fused.explain(given)

register_tanh()
for _ in range(2):
    check()
assert launched == ["tanh"] * 2, launched
assert "operator of tanh" in fused.explain(given) and "computed on the host" in fused.explain(given)

@register_kernel("square", matches=device_type() == ep_numpy_device.kNumpy, priority=1)
class NumpySquare(Kernel):
    def compute(self, context):
        launched.append("square")
        np.square(context.inputs[0], context.outputs[0])

check()
assert sorted(launched[2:]) == ["square", "tanh"], launched
assert "computed on the host" not in fused.explain(given)
"""
    )


def test_as_few_parts_as_the_order_allows(run_beside, rng):
    """The fewest groups of the other device's operators that can be computed one after another, by trying all."""
    run_beside(
        f"""
rng = np.random.default_rng({rng.integers(2**31)})

def groupings(items):
    if not items:
        yield []
        return
    for rest in groupings(items[1:]):
        yield [[items[0]], *rest]
        for k in range(len(rest)):
            yield [*rest[:k], [items[0], *rest[k]], *rest[k + 1 :]]

def has_order(groups, reads, number):
    of = {{one: k for k, group in enumerate(groups) for one in group}} | {{}}
    left = {{of.get(one, ("here", one)) for one in range(number)}}
    before = {{of.get(one, ("here", one)): set() for one in range(number)}}
    for one in range(number):
        for other in reads[one]:
            if of.get(other, ("here", other)) != of.get(one, ("here", one)):
                before[of.get(one, ("here", one))].add(of.get(other, ("here", other)))
    while left:
        free = {{one for one in left if not before[one] & left}}
        if not free:
            return False
        left -= free
    return True

for turn in range(40):
    number = int(rng.integers(2, 9))
    reads, is_here = [], []
    for k in range(number):
        count = int(rng.integers(0, min(k, 2) + 1))
        is_here.append(count < 2 and rng.random() < 0.5)
        reads.append([int(one) for one in rng.integers(0, k, count)] if k else [])

    def function(x):
        made = []
        for k in range(number):
            operands = [made[one] for one in reads[k]] or [x]
            if len(operands) == 2:
                made.append(ops.subtract(operands[0], operands[1]) * (k + 2.0))
            else:
                made.append(ops.negative(operands[0]) if is_here[k] else ops.tanh(operands[0]) + float(k))
        return made

    x = np.linspace(-1, 1, 3, dtype=np.float32)
    given, fused = ops.copy_to_device(x, "numpy"), ep.fuse(function, otherwise="cpu")
    there = [k for k in range(number) if not is_here[k]]
    fewest = min(len(one) for one in groupings(there) if has_order(one, reads, number))
    found = sum(": computed on the host" in line for line in fused.explain(given).splitlines())
    assert found == fewest, (reads, is_here, found, fewest)
"""
    )
