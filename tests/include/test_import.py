"""The modules that an import loads, and how long it takes."""

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

import ep
from tests.subprocesses import run

LOADED = "import sys; print(*sorted(name for name in sys.modules))"
NOT_LOADED = {"numba", "llvmlite", "cuda", "cupy", "torch", "scipy", "rich", "pytest", "hypothesis", "mpmath"}


def loaded(code: str) -> set[str]:
    return set(run(f"{code}\n{LOADED}").split())


def test_ep_imports_no_device_and_no_compiler():
    names = loaded("import ep")
    assert not names & {"ep.cpu", "ep.cuda", "ep.ops", "ep.expressions", "ep.cli", "ep.testing", "importlib.metadata"}
    assert not {name.partition(".")[0] for name in names} & NOT_LOADED


def test_contracts_need_numpy_and_ml_dtypes_alone():
    before = {name.partition(".")[0] for name in loaded("import numpy")}
    after = {name.partition(".")[0] for name in loaded("import ep.include.primitive")}
    unnamed = {"_missing_stdlib_info"}  # a module of Python 3.15 that its list lacks
    assert after - before - unnamed - set(sys.stdlib_module_names) == {"ep", "ml_dtypes"}


@pytest.mark.parametrize(
    "question",
    [
        "ep.NewPrimitive(ep.include.primitive.GatherFactory, ep.DeviceType.kCPU, 'float32', 'int32')",
        "ep.include.primitive.registered()",
        "ep.DeviceManagerRegistry.GetDeviceCount(ep.DeviceType.kCPU)",
    ],
)
def test_questions_load_no_compiler(question):
    names = loaded(f"import ep\nassert {question}")
    assert "ep.cpu" in names
    assert not {name.partition(".")[0] for name in names} & NOT_LOADED


@pytest.mark.parametrize("device_type", ["kCPU", "kCUDA"])
def test_a_device_is_found_without_its_factories_and_a_primitive_with_them(device_type):
    package = f"ep.{device_type[1:].lower()}"
    found = f"import ep\nep.DeviceManagerRegistry.GetDeviceCount(ep.DeviceType.{device_type})"
    asked = f"ep.include.primitive.implemented(ep.DeviceType.{device_type})"
    names = loaded(found)
    assert package in names
    assert f"{package}.primitive" not in names
    assert f"{package}.primitive.where" in loaded(f"{found}\nassert len({asked}) > 20")


def test_factories_of_other_packages_are_registered_after_those_of_the_device():
    run(
        """
import ep
from ep.include.primitive import Factory, GatherFactory, registered
from ep.include.primitive.registry import register_primitive_factory
try:
    @register_primitive_factory(ep.DeviceType.kCPU, GatherFactory)
    class Repeated(GatherFactory):
        keys = frozenset([(None, (ep.DataType.kFloat, ep.DataType.kInt64))])
        def Make(self, request): return None
except ep.DuplicateRegistrationError as error:
    assert "Repeated" in str(error).partition(" registers ")[0], error
else:
    raise AssertionError("a key was registered twice")
"""
    )


def test_what_ep_registers_is_no_addition_of_another_package():
    run(
        """
import ep.ops, ep.onnx.planner, ep.mesh
from ep import DeviceType
from ep.include.additions import has_additions
from ep.include.primitive import registered
from ep.ops.kernels import Kernel, register_kernel
assert registered()
assert not any(map(has_additions, DeviceType))
@register_kernel("gather", priority=1000)
class Added(Kernel):
    def compute(self, call): pass
assert all(map(has_additions, DeviceType))
"""
    )


def test_listing_what_is_registered_loads_every_device_and_no_compiler():
    names = loaded("from ep.include.primitive import registered\nassert registered()")
    assert {"ep.cpu", "ep.cuda"} <= names
    assert not {name.partition(".")[0] for name in names} & NOT_LOADED
    assert not {name for name in names if name.startswith(("ep.cpu.kernels", "ep.cuda.kernels"))}


def test_import_is_quick():
    code = "import time, numpy\nbefore = time.process_time()\nimport ep\nprint(time.process_time() - before)"
    assert min(float(run(code)) for _ in range(3)) < 0.15  # the first run may have to write bytecode


def test_every_module_can_be_the_first():
    root = Path(ep.__file__).parent
    names = [".".join(("ep", *path.relative_to(root).with_suffix("").parts)) for path in root.glob("include/**/*.py")]
    assert len(names) > 40
    run(
        f"import sys\nfor name in {names!r}:\n"
        "    for other in [other for other in sys.modules if other.partition('.')[0] == 'ep']:\n"
        "        del sys.modules[other]\n"
        "    __import__(name)"
    )


def test_all_names_exist():
    for module in (ep.include, ep.include.primitive):
        assert module.__all__ == sorted(module.__all__)
        assert all(hasattr(module, name) for name in module.__all__)
    assert set(ep.__all__) <= set(dir(ep))
    assert all(hasattr(ep, name) for name in ep.__all__ if name != "ops")


PUBLIC = ["ep.include", "ep.include.primitive", "ep.mesh", "ep.onnx", "ep.ops", "ep.sbp"]


@pytest.mark.parametrize("package", PUBLIC)
def test_dir_lists_what_is_public(package):
    module = import_module(package)
    listed = dir(module)
    assert listed == sorted(listed)
    hidden = {name for name in module.__all__ if "_backward_with_" in name} if package == "ep.ops" else set()
    assert bool(hidden) == (package == "ep.ops")
    assert {*listed} - {"primitive"} == {*module.__all__} - hidden
    assert all(hasattr(module, name) for name in (*listed, *hidden))


def test_dir_of_ep_lists_its_names_and_its_packages():
    assert dir(ep) == sorted({*ep.__all__, *(name.split(".")[1] for name in PUBLIC)})
    assert {name for name, _ in inspect.getmembers(ep)} == {*dir(ep)}


@pytest.mark.parametrize("package", ["include", "mesh", "onnx", "ops", "sbp"])
def test_packages_are_attributes_without_an_import_of_their_own(package):
    assert run(f"import ep\nprint(ep.{package}.__name__)").strip() == f"ep.{package}"


def test_a_package_without_its_extra():
    """The error names the extra, and what lists attributes goes on."""
    code = """
import inspect, sys
sys.modules["onnx"] = None
import ep
try:
    ep.onnx
except AttributeError as error:
    print(error)
print(hasattr(ep, "onnx"), len(inspect.getmembers(ep)) > 20)
exec("from ep import *")
try:
    from ep import onnx
except ModuleNotFoundError as error:
    print(error)
"""
    first, listed, imported = run(code).splitlines()
    for line in (first, imported):
        assert line.endswith("ep.onnx needs the package onnx: pip install 'ep-primitives[onnx]'")
    assert listed == "False True"


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="module 'ep' has no attribute 'nothing'"):
        _ = ep.nothing
    with pytest.raises(AttributeError, match=r"'ep' has no attribute 'NewPrimitve'; did you mean 'NewPrimitive'"):
        _ = ep.NewPrimitve
    with pytest.raises(AttributeError, match=r"'ep.onnx' has no attribute 'laod'; did you mean 'load'\?"):
        _ = ep.onnx.laod


def test_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", ep.__version__)
