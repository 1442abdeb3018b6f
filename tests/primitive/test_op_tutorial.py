"""The tutorial of a new op: its blocks, inserted into a copy of the sources, are a whole op."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.subprocesses import environment_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "tutorials" / "op.md").read_text()
BLOCKS = re.findall(r"(?m)^In `(\S+)`, (?:after `(.+?)`|at the end):\n\n```\w+\n((?s:.*?))```", PAGE)
PROGRAM = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[-1]
COMMANDS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)


def inserted(text, line, block):
    """Return a text with a block after the first line that has the text `line`, or at the end."""
    if not line:
        return f"{text}\n\n{block}"
    lines = text.splitlines(keepends=True)
    (at,) = [k for k, each in enumerate(lines) if each.strip().startswith(line)]
    return "".join([*lines[: at + 1], block, *lines[at + 1 :]])


def test_five_files_are_edited():
    assert len({file for file, _, _ in BLOCKS}) == 5


@pytest.mark.ep_long
def test_the_op_is_whole(tmp_path, kernels):
    for folder in ("ep", "tests", "tools", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("README.md", "conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / file, tmp_path)

    def python(*arguments):
        environment = environment_of([str(tmp_path)], {"EP_CACHE_DIR": str(kernels)})
        command = [sys.executable, *arguments]
        found = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert not found.returncode, found.stdout[-3000:] + found.stderr[-3000:]

    for file, line, block in BLOCKS:
        (tmp_path / file).write_text(inserted((tmp_path / file).read_text(), line, block))
    for module in re.findall(r"python -m (\S+)", COMMANDS[1]):
        python("-m", module)
    python("-c", PROGRAM)
    folders, names = re.search(r"pytest (.+?) \\\n.*-k (\".+\")", COMMANDS[1]).groups()
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--ep-every-case", "-k", names.strip('"')]
    python("-m", "pytest", *folders.split(), *options)
