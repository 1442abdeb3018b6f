"""The example of a device package, installed in a folder of its own, and the suite run on it."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.subprocesses import SOURCES

EXAMPLE = Path(SOURCES) / "examples" / "ep_numpy_device"


class Installed:
    """The example in the form of an installed package: modules, and the metadata with its entry points."""

    def __init__(self, folder):
        self.folder = folder
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

    def change(self, module, old, new):
        """Replace a text that occurs once in a module."""
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
        """Run Python with the example installed; return its output."""
        here = self.folder / "elsewhere"
        here.mkdir(exist_ok=True)
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
        variables |= {"PYTHONPATH": os.pathsep.join([str(self.folder), SOURCES]), "COLUMNS": "1000"}
        done = subprocess.run(
            [sys.executable, "-P", "-W", "error", *map(str, arguments)],
            cwd=here,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr


def passed(said):
    """Return the number of tests that passed."""
    return int(re.search(r"(\d+) passed", said)[1])


@pytest.fixture
def example(tmp_path):
    return Installed(tmp_path)
