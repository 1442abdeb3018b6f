"""The code for devices in documents: the commands of the README run, and so does the first day of a device."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from tests.subprocesses import SOURCES
from tests.testing.conftest import BEGIN, EXAMPLE, passed
from tools.search_paths import extended

README = (Path(SOURCES) / "README.md").read_text()
DOCUMENT = (Path(SOURCES) / "docs" / "adding-a-device.md").read_text()


@pytest.mark.ep_long
def test_the_readmes_device_conforms(example):
    """The commands test the example. Its errors have the words of the other devices, too."""
    section = README.partition("\n## Adding a device\n")[2].partition("\n## ")[0]
    (commands,) = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    install, test, use = commands.splitlines()
    assert install == f'cp -r {EXAMPLE.relative_to(SOURCES)} my_device && pip install -e ".[testing]" ./my_device'
    arguments = test.removeprefix("python -m pytest ").split()
    said = example.run(*arguments, "-o", "ep_same_words=true", device=None)
    assert passed(said) > 300
    assert "numpy: tested: device, memory, streams, events, " in said
    assert "Fill (5 keys), Gather (4 keys), Expand (4 keys), ElementwiseUnary (8 keys)\n" in said
    assert all("ElapsedTime" in line for line in re.findall(r"SKIPPED.*", said))
    assert example.python(*shlex.split(use)[1:]) == "[0. 2.]\n"
    (entry,) = re.findall(r"`(numpy = .*?)` under `\[project.entry-points.\"ep.devices\"\]`", section, re.DOTALL)
    assert f"\n{entry}\n" in (EXAMPLE / "pyproject.toml").read_text()


class Reader:
    """A reader who types the blocks of docs/adding-a-device.md in an empty folder."""

    def __init__(self, folder, run_forked):
        self.folder, self.run_forked, self.printed = folder, run_forked, []

    def type(self, verb, name, language, text):
        """Type a block: a file, a part of one, commands, or what the last commands have printed."""
        path = self.folder / (name or "none")
        if name:
            assert path.exists() == (verb == "Add to"), name
            path.write_text(path.read_text() + f"\n\n{text}" if path.exists() else text)
        elif language == "sh":
            self.printed = [self.run(*shlex.split(command)) for command in text.splitlines()]
        else:
            assert language == "text"
            self.check(text)

    def check(self, shown):
        """Compare with what the last commands have printed; a line of three dots stands for any lines."""
        lines = [
            r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(re.escape("..."), ".*") + r"\n"
            for line in shown.splitlines()
        ]
        assert re.fullmatch("".join(lines), "".join(self.printed)), "".join(self.printed)

    def run(self, command, *arguments):
        if command == "pip":
            assert arguments == ("install", "-e", ".")
            return self.install()
        script, *arguments = (arguments[0] if command == "python" else "ep", *arguments[command == "python" :])
        begin = BEGIN.format(here=str(self.folder), folder=str(self.folder), arguments=[script, *arguments])
        if script == "-m":
            program = f"runpy.run_module({arguments[0]!r}, run_name='__main__', alter_sys=True)"
        elif script == "ep":
            program = "from ep.cli.main import main\nsys.exit(main())"
        else:
            program = f"runpy.run_path({script!r}, run_name='__main__')"
        code = 1 if arguments[:2] == ["onnx", "check"] else 0
        return self.run_forked(
            begin + program, code=code, COLUMNS="1000", PYTHONPATH=extended("PYTHONPATH", self.folder, SOURCES)
        )

    def install(self):
        """Do what pip does: note the entry points where Python finds them."""
        project = tomllib.loads((self.folder / "pyproject.toml").read_text())["project"]
        metadata = self.folder / "my_device-0.1.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1\n")
        ((group, entries),) = project["entry-points"].items()
        lines = [f"[{group}]", *(f"{tag} = {module}" for tag, module in entries.items())]
        (metadata / "entry_points.txt").write_text("\n".join(lines))
        return ""


@pytest.fixture
def reader(tmp_path, run_forked):
    return Reader(tmp_path, run_forked)


FIRST_DAY, _, TESTS = DOCUMENT.partition("\n## The first day\n")[2].partition("\n## ")[0].partition("\n### The tests\n")
BLOCK = re.compile(r"(?:(Write|Add to) `([\w.]+)`:\n\n)?```(\w+)\n(.*?)```", re.DOTALL)


def test_the_first_day_of_a_device(reader):
    """A PyTorch model and an ONNX model run with one primitive, then with seven, and then on the device alone."""
    pytest.importorskip("torch", reason="PyTorch is not installed; the extra `torch` has it")
    pytest.importorskip("onnx", reason="onnx is not installed; the extra `onnx` has it")
    for block in BLOCK.findall(FIRST_DAY):
        reader.type(*block)
    assert len(re.findall("^class My", (reader.folder / "my_device.py").read_text(), re.MULTILINE)) == 7
    assert len(reader.printed) == 2
    for printed in reader.printed:
        assert "operator of softmax" in printed
        assert "copy" not in printed.replace("copies", "")
        assert "computed on the" not in printed


@pytest.mark.ep_long
def test_the_device_of_the_first_day_conforms(reader):
    for block in BLOCK.findall(FIRST_DAY):
        if block[1].endswith(("toml", "my_device.py")):
            reader.type(*block)
    reader.install()
    for block in BLOCK.findall(TESTS):
        reader.type(*block)


def test_the_document_names_what_is_there():
    for path in re.findall(r"`((?:ep|tests|examples)/[\w/.]+)`", DOCUMENT):
        assert (Path(SOURCES) / path).exists(), path
