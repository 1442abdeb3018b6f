"""Run the tutorials, the examples of docs/concepts.md, docs/operators.md and docs/placement.md, and the complete ones
of docs/expressions.md.
"""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from ep.cli.main import main
from tests.mesh.jobs import mpiexec_in_turn
from tests.subprocesses import run

DOCS = Path(__file__).parents[2] / "docs"
DOCUMENT = "".join((DOCS / name).read_text() for name in ("operators.md", "placement.md"))


EXAMPLES = re.findall(r"```python\n(.*?)```", DOCUMENT + (DOCS / "expressions.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("example", [one for one in EXAMPLES if one.startswith(("import", "from"))])
def test_examples_run(run_forked, example):
    if "ep.mesh" in example:
        pytest.importorskip("mpi4py")
        mpiexec_in_turn(4, "-c", example, PYTHONWARNINGS="error")
    else:
        run_forked(example)


CONCEPTS = (DOCS / "concepts.md").read_text()


def test_an_example_prints_what_its_comments_say(run_forked):
    (example,) = re.findall(r"```python\n(.*?)```", CONCEPTS, re.DOTALL)
    said = [line[2:] for line in example.splitlines() if line.startswith("# ")]
    assert len(said) == 4
    assert run_forked(example).splitlines() == said


def test_classes_that_a_call_passes_exist():
    """Each is listed once, and has one meaning in the package."""
    tables = CONCEPTS[CONCEPTS.index("## What a call passes") : CONCEPTS.index("## Tensors on many processes")]
    listed = [
        name for cells in re.findall(r"^\| (`.*?) \|", tables, re.MULTILINE) for name in re.findall(r"`(\w+)`", cells)
    ]
    sources = [one.read_text() for one in (DOCS.parent / "ep").rglob("*.py")]
    classes = [name for text in sources for name in re.findall(r"^class (\w+)", text, re.MULTILINE)]
    assert len(listed) == len({*listed}) > 40
    assert [name for name in (*listed, "Form", "Walk") if classes.count(name) != 1] == []


PROGRAMS = [page for page in sorted((DOCS / "tutorials").glob("*.md")) if page.stem != "op"]  # tests/primitive has it


@pytest.mark.parametrize("page", PROGRAMS, ids=lambda page: page.stem)
def test_the_blocks_of_a_tutorial_are_one_program(page, run_forked):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert len(blocks) > 2
    run_forked("".join(blocks))


COMMANDS = [line for text in re.findall(r"```sh\n(.*?)```", DOCUMENT, re.DOTALL) for line in text.splitlines()]


def test_every_command_is_run():
    assert {line.split()[0] for line in COMMANDS} == {"ep", "python", "mpiexec"}


@pytest.mark.parametrize("command", [line for line in COMMANDS if line.startswith("ep ")])
def test_commands_run(command):
    """Without a GPU, the command about CUDA prints that nothing matches."""
    arguments = shlex.split(command)[1:]
    assert main(arguments) in ((0, 1) if "cuda" in arguments else (0,))


@pytest.mark.parametrize("command", [line for line in COMMANDS if line.startswith("python ")])
def test_commands_that_make_files_run(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, option, code = shlex.split(command)
    assert option == "-c"
    run(code)
    assert {one.name for one in tmp_path.iterdir()} == set(re.findall(r"\w+\.npy", command))


@pytest.mark.ep_long
@pytest.mark.parametrize("command", [line for line in COMMANDS if line.startswith("mpiexec ")])
def test_commands_run_on_ranks(command, tmp_path, monkeypatch, rng):
    pytest.importorskip("mpi4py")
    monkeypatch.chdir(tmp_path)
    np.save("table.npy", rng.random((33, 8), np.float32))
    np.save("tokens.npy", rng.integers(0, 33, 9))
    np.save("weights.npy", rng.random((8, 6), np.float32))
    _, of, ranks, *arguments = shlex.split(command)
    assert (of, arguments[0]) == ("-n", "ep")
    said = mpiexec_in_turn(int(ranks), "-m", *arguments)
    table, result = np.load("table.npy"), np.load(arguments[-1])
    expected = table[np.load("tokens.npy")] if "gather" in arguments else table @ np.load("weights.npy")
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    assert "bytes by the cost model" in said
