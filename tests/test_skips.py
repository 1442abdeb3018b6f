"""A run with `--ep-listed-skips` fails with skips that docs/support.md does not list; those that it lists exist."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.skips import listed

ROOT = Path(__file__).parents[1]
DOCUMENT = """
| skipped tests | reason |
|---|---|
| `test_it.py` | `needs * cores` |
| `test_else.py` | `it rains` |
"""
SKIPS = """
import pytest
def test_that_passes(): pass
@pytest.mark.skip(reason={!r})
def test_that_is_skipped(): pass
"""
IN_A_TEST = "import pytest\ndef test_that_passes(): pass\ndef test_that_is_skipped(): pytest.skip({!r})\n"
OF_A_MODULE = "import pytest\npytest.skip({!r}, allow_module_level=True)\n"
PASSES = "def test_that_passes(): pass\n"


@pytest.fixture
def run_tests(tmp_path):
    """Return a function that runs tests with the conftest.py of this project, and returns the status and the output."""
    (tmp_path / "support.md").write_text(DOCUMENT)

    def run(text, *options):
        (tmp_path / "test_it.py").write_text(text)
        (tmp_path / "test_more.py").write_text(PASSES)
        fixed = ("-p", "conftest", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml", "--rootdir", tmp_path)
        command = [sys.executable, "-m", "pytest", *fixed, *options, tmp_path]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("text", [SKIPS, IN_A_TEST, OF_A_MODULE], ids=["mark", "call", "module"])
def test_a_skip_that_is_not_listed_fails(run_tests, tmp_path, text, workers):
    option = ("-n", workers, "--ep-listed-skips", tmp_path / "support.md")
    status, said = run_tests(text.format("it rains"), *option)  # listed, for another file
    assert status == 1, said
    assert "skipped for a reason that is not listed" in said
    assert "test_it.py" in said.partition("not listed")[2]
    assert said.partition("not listed")[2].count(": it rains") >= 1
    status, said = run_tests(text.format("needs 64 cores"), *option)
    assert status == 0, said
    assert "not listed" not in said
    assert run_tests(text.format("it rains"), "-n", workers)[0] == 0


def test_a_failed_run_stays_one(run_tests, tmp_path):
    status, said = run_tests("def test_that_fails(): assert False\n", "--ep-listed-skips", tmp_path / "support.md")
    assert status == 1, said


@pytest.mark.parametrize("row", ["| test_it.py | `why` |", "| `test_it.py` | why |", "| `test_it.py` |"])
def test_a_row_of_another_form_is_an_error(row):
    with pytest.raises(ValueError, match="between backquotes"):
        listed(DOCUMENT + row + "\n")


def test_listed_skips_exist():
    """Each file is there, and the words of each reason are in tests or in the conformance suite."""
    sources = "".join(path.read_text() for folder in ("tests", "ep/testing") for path in (ROOT / folder).rglob("*.py"))
    rows = listed((ROOT / "docs/support.md").read_text())
    assert rows
    for file, reason in rows:
        assert (ROOT / file).is_file(), file
        for words in reason.split("*"):
            assert words in sources, reason
