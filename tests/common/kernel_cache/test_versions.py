"""The versions of packages, as `importlib.metadata` says them."""

import sys
from importlib import metadata

import pytest

from ep.common.kernel_cache.versions import version
from tests.subprocesses import run


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Return a folder from which packages are imported, with a package that no installer has put there."""
    (tmp_path / "ep_tool").mkdir()
    (tmp_path / "ep_tool" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def installed(folder, number, form="dist-info", file="METADATA"):
    made = folder / f"Ep_Tool-{number}.{form}"
    made.mkdir(parents=True)
    (made / file).write_text(f"Metadata-Version: 2.1\nName: Ep_Tool\nVersion: {number}\n")


@pytest.mark.parametrize("package", ["numba", "llvmlite", "numpy", "ml_dtypes"])
def test_an_installed_package(package):
    assert version(package) == metadata.version(package)


def test_no_package(site):
    assert version("ep_no_such_tool") is None
    assert version("ep_tool") is None


def test_a_wheel(site):
    installed(site, "1.2.3rc1")
    assert version("ep_tool") == "1.2.3rc1" == metadata.version("ep_tool")


def test_an_older_form(site):
    installed(site, "0.9", "egg-info", "PKG-INFO")
    assert version("ep_tool") == "0.9"


def test_a_package_that_is_installed_twice(site):
    """Python's own choice counts."""
    installed(site, "1.0")
    installed(site, "1.1")
    assert version("ep_tool") == metadata.version("ep_tool")


def test_a_wheel_elsewhere(site, monkeypatch):
    """The package is imported from its sources; another folder says its version."""
    installed(site / "other", "2.0")
    monkeypatch.setattr(sys, "path", [*sys.path, str(site / "other")])
    assert version("ep_tool") == "2.0"


def test_wheels_are_read_without_importlib_metadata():
    assert run("""
import sys
from ep.common.kernel_cache.versions import version
print(version("numpy") is not None, "importlib.metadata" in sys.modules)
""").split() == ["True", "False"]
