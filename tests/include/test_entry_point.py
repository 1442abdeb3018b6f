"""A device type from another package, found through its entry point."""

import pytest

from tests.subprocesses import run

FOO = """
import numpy as np

from ep.include import DataType, DeviceType, as_data_type
from ep.include.primitive import Fill, FillFactory, Gather, GatherFactory, Key, register_primitive_factory

FOO = DeviceType.Register("kFoo", "foo")


class FooGather(Gather):
    def Launch(
        self, stream, outer_dim_size, gather_dim_size, inner_dim_size, params, num_indices, indices, out, offset=0
    ):
        rows = params.reshape(outer_dim_size, gather_dim_size, inner_dim_size)
        out.reshape(outer_dim_size, num_indices, inner_dim_size)[...] = rows[:, indices - offset]


@register_primitive_factory(FOO, GatherFactory)
class FooGatherFactory(GatherFactory):
    keys = {Key(None, (DataType.kFloat, DataType.kInt32)), Key(None, (DataType.kFloat, DataType.kInt64))}

    def Make(self, request):
        return FooGather(request)


class FooFill(Fill):
    def __init__(self, data_type):
        self.dtype = data_type.dtype

    def Launch(self, stream, dst, value, count):
        dst[:count] = np.asarray(value, self.dtype)


@register_primitive_factory(FOO, FillFactory)
class FooFillFactory(FillFactory):
    def New(self, data_type):
        data_type = as_data_type(data_type)
        return None if data_type is DataType.kBFloat16 else FooFill(data_type)
"""


def install(folder, name, source, tag):
    """Write a module, and the metadata of a package that declares it as a device type."""
    (folder / f"{name}.py").write_text(source)
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[ep.devices]\n{tag} = {name}\n")


@pytest.fixture
def foo(tmp_path):
    """Return the folder of an installed package foo_device."""
    install(tmp_path, "foo_device", FOO, "foo")
    return str(tmp_path)


def test_device_type_appears_when_first_asked_for(foo):
    run(
        "import sys, ep\n"
        "assert 'kFoo' not in [member.name for member in ep.DeviceType]\n"
        "assert 'foo_device' not in sys.modules\n"
        "assert ep.DeviceType.kFoo.tag == 'foo'\n"
        "assert ep.DeviceType.kFoo in list(ep.DeviceType)\n"
        "assert 'ep.cpu' not in sys.modules",
        foo,
    )
    run("import ep; assert ep.DeviceType.FromTag('foo').name == 'kFoo'", foo)
    run(
        "import ep\n"
        "try: ep.DeviceType.FromTag('fooo')\n"
        "except ValueError as error: assert \"; did you mean 'foo'? (known: cpu, cuda, foo\" in str(error), error\n"
        "else: raise AssertionError",
        foo,
    )


def test_a_device_type_of_ep_is_not_replaced(tmp_path):
    install(tmp_path, "other_cpu", "raise AssertionError('it is loaded')", "cpu")
    run(
        "import warnings, ep\n"
        "from ep.include.device_type import load_all_providers\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    load_all_providers()\n"
        "(warning,) = caught\n"
        "assert \"entry point 'cpu' (other_cpu) is ignored\" in str(warning.message)",
        str(tmp_path),
    )


def test_nothing_is_there_without_the_package():
    run("import ep; assert not hasattr(ep.DeviceType, 'kFoo')")


def test_its_primitives_work(foo):
    run(
        """
import numpy as np
import ep
from ep.include.primitive import FillFactory, GatherFactory

foo = ep.DeviceType.kFoo
gather = ep.NewPrimitive(GatherFactory, foo, "float32", np.int32)
params = np.arange(2 * 5 * 3, dtype=np.float32)
indices = np.array([4, 0, 4, 2], np.int32)
out = np.full(2 * 4 * 3, np.nan, np.float32)
gather.Launch(None, 2, 5, 3, params, 4, indices, out)
assert (out.reshape(2, 4, 3) == params.reshape(2, 5, 3)[:, indices]).all()
assert ep.NewPrimitive(GatherFactory, foo, "float64", "int32") is None

fill = ep.RequirePrimitive(FillFactory, foo, "int16")
dst = np.zeros(7, np.int16)
fill.Launch(None, dst, 3, 5)
assert dst.tolist() == [3, 3, 3, 3, 3, 0, 0]
assert ep.NewPrimitive(FillFactory, foo, "bfloat16") is None
assert ep.NewPrimitive(FillFactory, ep.DeviceType.kCUDA, "bfloat16") is None
""",
        foo,
    )


def test_it_is_listed(foo):
    listed = run(
        "from ep.include.primitive import registered\n"
        "for entry in registered():\n"
        "    if entry.device_type.tag == 'foo': print(entry)",
        foo,
    )
    assert listed.splitlines() == ["Gather(kFloat, kInt32) on foo", "Gather(kFloat, kInt64) on foo"]


def test_others_say_where_a_key_is_registered(foo):
    run(
        """
import ep
from ep.include import DeviceType, UnsupportedPrimitiveError
from ep.include.primitive import GatherFactory

bare = DeviceType.Register("kBare", "bare")
try:
    ep.RequirePrimitive(GatherFactory, bare, "float32", "int64")
except UnsupportedPrimitiveError as error:
    assert str(error).endswith("; it is registered on cpu, cuda, foo"), error
else:
    raise AssertionError
""",
        foo,
    )


def test_a_broken_package_does_not_take_the_others_with_it(tmp_path, foo):
    install(tmp_path, "broken_device", "raise ImportError('its driver is missing')", "broken")
    run(
        """
import warnings
import ep
from ep.include.primitive import registered

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    tags = {entry.device_type.tag for entry in registered()}
assert {"cpu", "foo"} <= tags, tags
(warning,) = caught
assert "device type 'broken' (broken_device) cannot be loaded" in str(warning.message), warning
assert "its driver is missing" in str(warning.message), warning
""",
        foo,
    )


def test_asking_for_a_broken_package_says_what_is_wrong(tmp_path):
    install(tmp_path, "broken_device", "raise ImportError('its driver is missing')", "broken")
    run(
        """
import ep

try:
    ep.DeviceType.kBroken
except AttributeError as error:
    assert "its driver is missing" in str(error), error
else:
    raise AssertionError
try:
    ep.DeviceType.FromTag("broken")
except ImportError as error:
    assert "its driver is missing" in str(error), error
else:
    raise AssertionError
""",
        str(tmp_path),
    )


def test_a_tag_that_is_not_the_folded_name(tmp_path):
    source = "from ep.include import DeviceType\nDeviceType.Register('kFooBar', 'foo-bar')\n"
    install(tmp_path, "foo_bar_device", source, "foo-bar")
    run("import ep; assert ep.DeviceType.kFooBar.tag == 'foo-bar'", str(tmp_path))


def test_threads_that_ask_at_once_all_see_the_whole_device(tmp_path):
    install(
        tmp_path, "foo_device", FOO.replace("class FooGather(", "import time; time.sleep(0.3)\nclass FooGather("), "foo"
    )
    run(
        """
import threading, time
import ep
from ep.include.primitive import GatherFactory

found = []
def ask():
    found.append(ep.NewPrimitive(GatherFactory, ep.DeviceType.kFoo, "float32", "int32"))
threads = [threading.Thread(target=ask) for _ in range(6)]
for thread in threads:
    thread.start()
    time.sleep(0.02)
for thread in threads:
    thread.join()
assert len(found) == 6 and None not in found, found
""",
        str(tmp_path),
    )
