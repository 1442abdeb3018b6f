"""The code for devices in documents: the commands of the README run, and docs/adding-a-device.md quotes the example."""

import re
import shlex
from pathlib import Path

from tests.subprocesses import SOURCES
from tests.testing.conftest import EXAMPLE, passed

README = (Path(SOURCES) / "README.md").read_text()
DOCUMENT = (Path(SOURCES) / "docs" / "adding-a-device.md").read_text()


def test_the_readmes_device_conforms(example):
    """The README and the document begin with the same commands, which test the example. Its errors have the words of
    the other devices, too.
    """
    section = README.partition("\n## Adding a device\n")[2].partition("\n## ")[0]
    (commands,) = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    assert commands in DOCUMENT
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
