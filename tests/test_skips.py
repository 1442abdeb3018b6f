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
| `test_else.py` | `it rains` |
"""
SKIPS = {
    "it": "import pytest\n@pytest.mark.skip(reason={!r})\ndef test_that_is_skipped(): pass\n",
    "call": "import pytest\ndef test_that_is_skipped(): pytest.skip({!r})\n",
    "module": "import pytest\npytest.skip({!r}, allow_module_level=True)\n",
}
"""By the name of a file: a test that is skipped by a mark, by a call, and with its whole module."""
PASSES = "def test_that_passes(): pass\n"


@pytest.fixture
def run_tests(tmp_path):
    """Return a function that runs tests with the conftest.py of this project, and returns the status and the output."""
    rows = "".join(f"| `test_{name}.py` | `needs * cores` |\n" for name in SKIPS)
    (tmp_path / "support.md").write_text(DOCUMENT + rows)

    def run(texts, *options):
        for name, text in {**texts, "more": PASSES}.items():
            (tmp_path / f"test_{name}.py").write_text(text)
        fixed = ("-p", "conftest", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml", "--rootdir", tmp_path)
        command = [sys.executable, "-m", "pytest", *fixed, *options, tmp_path]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return run


def test_a_skip_that_is_not_listed_fails(run_tests, tmp_path):
    rainy, few = ({name: text.format(why) for name, text in SKIPS.items()} for why in ("it rains", "needs 64 cores"))
    for workers in ("0", "1"):
        status, said = run_tests(rainy, "-n", workers, "--ep-listed-skips", tmp_path / "support.md")
        assert status == 1, said
        assert "skipped for a reason that is not listed" in said
        for name in SKIPS:  # "it rains" is listed, for another file
            assert f"test_{name}.py" in said.partition("not listed")[2]
        assert said.partition("not listed")[2].count(": it rains") >= len(SKIPS)
    status, said = run_tests(few, "-n", "1", "--ep-listed-skips", tmp_path / "support.md")
    assert status == 0, said
    assert "not listed" not in said
    assert run_tests(rainy, "-n", "0")[0] == 0


def test_a_failed_run_stays_one(run_tests, tmp_path):
    status, said = run_tests(
        {"it": "def test_that_fails(): assert False\n"}, "--ep-listed-skips", tmp_path / "support.md"
    )
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
