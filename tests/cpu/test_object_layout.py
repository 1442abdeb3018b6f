"""A Python or NumPy whose objects have an unknown layout is refused, by name, before compiled code runs."""

import platform

import numpy as np
import pytest

from ep.common.native import object_layout
from tests.forked import forking
from tests.subprocesses import run

ASKED = """
import ep
from ep.include.primitive import GatherFactory

cpu = ep.DeviceType.kCPU
manager = ep.DeviceManagerRegistry.GetDeviceManager(cpu)
why = manager.WhyUnavailable()
assert why and manager.GetDeviceCount() == 0
assert ep.NewPrimitive(GatherFactory, cpu, "float32", "int64") is None
for ask in (
    lambda: manager.GetDevice(0),
    lambda: manager.SetActiveDeviceByIndex(0),
    lambda: ep.RequirePrimitive(GatherFactory, cpu, "float32", "int64"),
):
    try:
        ask()
    except (ep.DeviceUnavailableError, ep.UnsupportedPrimitiveError) as error:
        assert why in str(error), error
    else:
        raise AssertionError("not refused")
print(why)
"""

FREE_THREADED = """
import sys
sys.version = sys.version.replace("(", "(free-threading build ", 1)
"""
"""Such a build has these words before the parenthesis, where `platform` of Python 3.11 does not expect them."""


def test_this_one_is_known():
    assert object_layout.why_unknown() is None


NAMES = [
    "TYPE",
    "DATA",
    "NUM_DIMS",
    "DIMS",
    "DTYPE",
    "FLAGS",
    "C_CONTIGUOUS",
    "WRITEABLE",
    "TUPLE_LENGTH",
    "TUPLE_ITEMS",
    "FIRST_SLOT",
    "SECOND_SLOT",
    "THIRD_SLOT",
    "FIRST_SLOT_OF_DICT",
    "FLOAT_VALUE",
]


@pytest.fixture(scope="module")
def run_forked():
    with forking("from ep.common.native import object_layout") as run_forked:
        yield run_forked


@pytest.mark.parametrize("name", NAMES)
def test_every_other_place_is_noticed(run_forked, name):
    """Try each offset at every other place, also beyond the end of the object, and each flag at every other bit."""
    right = getattr(object_layout, name)
    step = 4 if name in ("NUM_DIMS", "FLAGS") else 8  # the size of the field in bytes
    others = range(0, np.ndarray.__basicsize__ + 64, step)
    if name in ("C_CONTIGUOUS", "WRITEABLE"):
        others = [1 << bit for bit in range(12)]
    code = f"""
from ep.common.native import object_layout
for other in {[other for other in others if other != right]}:
    object_layout.{name} = other
    object_layout.why_unknown.cache_clear()
    assert object_layout.why_unknown(), other
"""
    run_forked(code)


def test_it_is_refused_before_anything_is_compiled():
    code = f"from ep.common.native import object_layout\nobject_layout.NUM_DIMS += 8\n{ASKED}"
    why = run(code + "import sys\nassert 'numba' not in sys.modules")
    assert why.startswith(f"Python {platform.python_version()} (cpython) and NumPy {np.__version__} lay out arrays in ")
    offset = object_layout.NUM_DIMS + 8
    assert f"ep does not know: number of dims at byte {offset} should be 2, and is " in why


def test_an_address_that_cannot_be_one_is_not_read():
    code = "from ep.common.native import object_layout\nobject_layout.DIMS = object_layout.NUM_DIMS\n"
    assert "the address of the dims at byte 24 cannot be 2" in run(code + ASKED)


def test_a_python_without_the_gil_is_refused_by_name():
    why = run(FREE_THREADED + ASKED)
    assert why.startswith(
        f"this is a free-threaded build of Python {platform.python_version()}, in which ep has never "
    )
    why = run(FREE_THREADED + ASKED.replace("kCPU", "kCUDA"))
    assert why.startswith("this is a free-threaded build")


def test_the_doctor_says_so():
    code = FREE_THREADED + "from ep.cli.main import main\nassert main(['doctor']) == 1"
    said = " ".join(run(code).split())
    assert "cpu not available: this is a free-threaded build" in said
    assert "These fail: devices." in said
