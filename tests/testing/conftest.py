"""The example of a device package, installed in a folder of its own, and the suite run on it."""

import os
import re
import tomllib
from pathlib import Path

import pytest

from tests.forked import forking
from tests.subprocesses import SOURCES
from tools.search_paths import extended

EXAMPLE = Path(SOURCES) / "examples" / "ep_numpy_device"
OF_THE_HOST = {
    "host_device": "ep.common.host.device",
    "indexed_devices": "ep.common.indexed_devices",
    "host_arrays": "ep.common.host.arrays",
    "host_buffers": "ep.common.host_buffers",
}

BEGIN = """
import os, runpy, sys
for name in [name for name in os.environ if name.startswith(("PYTEST_", "COV_"))]:
    del os.environ[name]
os.chdir({here!r})
sys.path.insert(0, {folder!r})
sys.argv = {arguments}
"""


class Installed:
    """The example in the form of an installed package: modules, and the metadata with its entry points."""

    def __init__(self, folder, run_forked):
        self.folder = folder
        self.run_forked = run_forked
        self.project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())
        for package in self.project["tool"]["setuptools"]["packages"]:
            (folder / package).mkdir()
            for path in (EXAMPLE / package).glob("*.py"):
                (folder / package / path.name).write_text(path.read_text())
        metadata = folder / "ep_numpy_device-1.0.dist-info"
        metadata.mkdir()
        metadata.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: ep-numpy-device\nVersion: 1.0\n")
        lines = []
        for group, entries in self.project["project"]["entry-points"].items():
            lines += [f"[{group}]", *(f"{tag} = {module}" for tag, module in entries.items())]
        metadata.joinpath("entry_points.txt").write_text("\n".join(lines))

    def take_in(self):
        """Give the package copies of the modules of `ep.common` that have its device and its checks, to change them."""
        package = self.folder / "ep_numpy_device"
        for name, module in OF_THE_HOST.items():
            path = Path(SOURCES) / f"{module.replace('.', '/')}.py"
            (package / f"{name}.py").write_text(path.read_text())
        for path in package.glob("*.py"):
            for name, module in OF_THE_HOST.items():
                path.write_text(
                    path.read_text().replace(f"from {module} import", f"from ep_numpy_device.{name} import")
                )

    def change(self, module, old, new):
        """Replace a text that occurs once in a module."""
        if module in OF_THE_HOST:
            self.take_in()
        path = self.folder / "ep_numpy_device" / f"{module}.py"
        text = path.read_text()
        assert text.count(old) == 1, old
        path.write_text(text.replace(old, new))

    def keep_fill_alone(self):
        """Remove all primitives except Fill."""
        path = self.folder / "ep_numpy_device" / "primitives.py"
        text = path.read_text()
        path.write_text(text[: text.index("@implements(GatherFactory")])

    def run(self, *arguments, device="numpy", code=0):
        """Run pytest with the plugin in a folder without this project's configuration; return its output."""
        options = ["-W", "error", "-p", "ep.testing.plugin", "-p", "no:cacheprovider"]
        options += ["--confcutdir", os.path.join(SOURCES, "ep")]  # not the repository's conftest.py
        named = ["--ep-device", device] if device else []
        return self.python("-m", "pytest", *options, *arguments, *named, code=code)

    def python(self, *arguments, code=0):
        """Run Python with the example installed, with -m or -c, as a process that has imported nothing of the package;
        return its output.
        """
        here = self.folder / "elsewhere"
        here.mkdir(exist_ok=True)
        option, what, *rest = map(str, arguments)
        begin = BEGIN.format(here=str(here), folder=str(self.folder), arguments=[option, *rest])
        program = {"-m": f"runpy.run_module({what!r}, run_name='__main__', alter_sys=True)", "-c": what}[option]
        variables = {"PYTHONPATH": extended("PYTHONPATH", self.folder, SOURCES), "COLUMNS": "1000"}
        return self.run_forked(begin + program, code=code, merged=True, **variables)


def passed(said):
    """Return the number of tests that passed."""
    return int(re.search(r"(\d+) passed", said)[1])


@pytest.fixture(scope="session")
def run_forked():
    """Yield a function that runs code in a process that has imported nothing of the package; see `forking`."""
    with forking("import ml_dtypes, mpmath, numpy, pytest, scipy.special") as run_forked:
        yield run_forked


@pytest.fixture
def example(tmp_path, run_forked):
    return Installed(tmp_path, run_forked)
