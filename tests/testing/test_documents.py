"""The documents' code of a device: the README's runs, and docs/adding-a-device.md quotes the example."""

import re
from pathlib import Path

from tests.subprocesses import SOURCES
from tests.testing.conftest import EXAMPLE, passed

README = (Path(SOURCES) / "README.md").read_text()
DOCUMENT = (Path(SOURCES) / "docs" / "adding-a-device.md").read_text()


def test_the_readmes_device_conforms(example):
    """Its package, with the device and the Fill of the example under another name."""
    section = README.partition("\n## Adding a device\n")[2].partition("\n## ")[0]
    (registering,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    (command,) = re.findall(r"```sh\n.* -m pytest (.*)\n```", section)
    assert '`foo = "ep_foo"` under `[project.entry-points."ep.devices"]`' in section
    (example.folder / "ep_numpy_device-1.0.dist-info" / "entry_points.txt").write_text("[ep.devices]\nfoo = ep_foo\n")
    package = example.folder / "ep_foo"
    package.mkdir()
    sources = {path.stem: _renamed(path.read_text()) for path in (EXAMPLE / "ep_numpy_device").glob("*.py")}
    (package / "device.py").write_text(sources["device"])
    (package / "fill.py").write_text(_fill(sources["primitives"]))
    (package / "__init__.py").write_text(registering)
    said = example.run(*command.split(), device=None)
    assert passed(said) > 60
    assert "foo: tested: device, memory, streams, events, Fill (1 keys)\n" in said


def _fill(source):
    """Return what is before the first primitive, and its Launch as a function."""
    helpers, launch = re.findall(r"(.*?)@implements.*?\n    def Launch(.*?)\n\n\n", source, re.DOTALL)[0]
    body = re.sub(r"\n    ", r"\n", launch).replace("    (data_type,) = self.request.dtypes\n", "")
    return f"{helpers}def fill{body.replace('(self, ', '(data_type, ')}\n"


def _renamed(source):
    return source.replace("ep_numpy_device", "ep_foo").replace('"numpy"', '"foo"').replace("Numpy", "Foo")


def test_the_document_quotes_the_example():
    quoted = re.findall(r"<!-- (\S+) -->\n```(?:python|toml)\n(.*?)```", DOCUMENT, re.DOTALL)
    assert len(quoted) == 9
    for path, code in quoted:
        assert code in (Path(SOURCES) / path).read_text(), code
    walk = DOCUMENT.partition("\n## A device with memory")[0]
    assert walk.count("```python") + walk.count("```toml") == len(quoted)


def test_the_document_names_what_is_there():
    for path in re.findall(r"`((?:ep|tests|examples)/[\w/.]+)`", DOCUMENT):
        assert (Path(SOURCES) / path).exists(), path
