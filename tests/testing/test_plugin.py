"""The output and the errors of the plugin of the conformance suite."""

import inspect
from importlib import import_module
from pathlib import Path

import ep.testing
from ep.testing import coverage
from tests.testing.conftest import passed

GATHER = ("--pyargs", "ep.testing.primitive.test_gather")


def test_nothing_of_the_device_is_no_success(example):
    example.keep_fill_alone()
    said = example.run(*GATHER, code=4)
    assert "nothing of numpy is tested: all tests are about keys that it does not register" in said
    said = example.run(*GATHER, "-n", "1", code=5)
    assert "nothing of numpy was tested" in said


def test_a_device_must_be_named(example):
    said = example.run("--pyargs", "ep.testing", device=None, code=4)
    assert "there is no device to test: name its type, as in --ep-device cpu" in said


def test_a_device_that_is_not_there(example):
    assert "ERROR: --ep-device numpi: device 'numpi' is not known" in example.run(*GATHER, device="numpi", code=4)
    said = example.run(*GATHER, "-o", "ep_devices=numpi", device=None, code=4)
    assert "ERROR: ep_devices numpi: device 'numpi' is not known" in said


def test_it_tells_what_has_no_tests(example):
    example.change(
        "primitives",
        "@implements(GatherFactory",
        """
from ep.include.primitive import CastFactory, WhereFactory, register_primitive_factory
from ep.testing import coverage

coverage.TESTED = tuple(set(coverage.TESTED) - {WhereFactory})  # as if the suite had none of it

@register_primitive_factory(kNumpy, WhereFactory)
class NumpyWhereFactory(WhereFactory):
    keys = frozenset({Key(None, (DataType.kBool, DataType.kFloat))})

    def Make(self, request):
        raise NotImplementedError

@register_primitive_factory(kNumpy, CastFactory)
class NumpyCastFactory(CastFactory):
    def New(self, src_type, dst_type):
        raise NotImplementedError

@implements(GatherFactory""",
    )
    said = example.run("--pyargs", "ep.testing.device_layer.test_manager")
    assert "numpy: registered, and NOT tested: the suite has no tests of it: Where\n" in said
    assert "numpy: registered without a table of keys, and so NOT tested: Cast\n" in said


def test_it_leaves_the_tests_of_others_alone(example):
    """A suite with its own option `--device` and fixture `device` runs together with the plugin."""
    folder = example.folder / "theirs"
    folder.mkdir()
    (folder / "conftest.py").write_text(
        "import pytest\n"
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--device', default='tpu')\n"
        "@pytest.fixture\n"
        "def device(request):\n"
        "    return request.config.getoption('--device')\n"
    )
    (folder / "test_theirs.py").write_text("def test(device):\n    assert device == 'gpu'\n")
    said = example.run(str(folder), "--pyargs", "ep.testing.primitive.test_fill", "--device", "gpu")
    assert passed(said) > 20
    assert "theirs/test_theirs.py" in example.run(str(folder), "--device", "gpu", "-v", device=None)


def test_the_words_of_errors_are_free(example):
    """Messages must name the argument; with `ep_same_words`, they must be the same as those of ep's devices."""
    lines = "number = self.number(value) if np.isscalar(value) and not isinstance(value, str) else self.wrong()"
    example.change("primitives", 'number = convert_value(value, data_type, "value")', lines)
    methods = """
    def number(self, value):
        return convert_value(value, self.request.dtypes[0], "value")

    def wrong(self):
        raise ValueError("value is bad")


@implements(GatherFactory"""
    example.change("primitives", "\n\n@implements(GatherFactory", methods)
    module = ("--pyargs", "ep.testing.primitive.test_fill")
    example.run(*module)
    assert "value must be a number" in example.run(*module, "-o", "ep_same_words=true", code=1)
    words = "value must be a number, not '1'"
    example.change("primitives", 'raise ValueError("value is bad")', f"raise TypeError({words!r})")
    said = example.run(*module, "-o", "ep_same_words=true", code=1)
    assert f"TypeError({words!r}) has no argument" in said  # the right message, but no name


def test_the_list_of_what_is_tested_is_what_the_modules_test():
    folder = Path(ep.testing.__file__).parent
    named = set()
    for path in (folder / "primitive").glob("test_*.py"):
        if path.name != "test_keys.py":
            module = import_module(f"ep.testing.primitive.{path.stem}")
            classes = [
                module,
                *(value for name, value in inspect.getmembers(module, inspect.isclass) if "Test" in name),
            ]
            functions = [value for one in classes for _, value in inspect.getmembers(one, inspect.isfunction)]
            marks = [mark for function in functions for mark in getattr(function, "pytestmark", ())]
            named |= {mark.args[0] for mark in marks if mark.name == "ep_keys" and mark.args[1] is None}
    assert named == set(coverage.TESTED)
    assert len(coverage.ALL) == 31 + 1  # Expression has no keys of its own: tests/fuse tests it


def test_each_folder_of_the_suite_is_a_package():
    """setuptools finds only folders with an `__init__.py`, so that a wheel has no others."""
    folder = Path(ep.testing.__file__).parent
    for path in folder.rglob("*.py"):
        assert (path.parent / "__init__.py").exists(), path
