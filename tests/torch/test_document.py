"""The program of docs/torch.md, and what it says of options and versions."""

import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed; the extra `torch` has it")

from ep.torch.aot import TRIED
from ep.torch.section import Options

DOCUMENT = (Path(__file__).parents[2] / "docs/torch.md").read_text()


def test_the_program_runs(capsys):
    (program,) = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    exec(compile(program, "docs/torch.md", "exec"), {})
    assert capsys.readouterr().out.startswith("graphs: 2, on cpu\n\ngraph 1:\n")


def test_options_and_versions():
    table = DOCUMENT.partition("## Options")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.M) == [*Options._fields]
    assert f"All tests pass with PyTorch {' and '.join(TRIED)}." in DOCUMENT
