"""Which cases of a test a run has: some, by turns, those that failed among them; or every one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

FILE, TEST = "tests/common/test_scalar.py", "test_floats"


@pytest.fixture
def collected(tmp_path):
    """Return what runs with these options collect of a test that has hundreds of cases."""

    def collect(*options):
        fixed = ("--collect-only", "-q", "-p", "no:xdist", "-o", f"cache_dir={tmp_path}", "--ep-turn", "one")
        command = [sys.executable, "-m", "pytest", *fixed, *options, f"{FILE}::{TEST}"]
        said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        return [line for line in said.splitlines() if line.startswith(f"{FILE}::{TEST}[")]

    return collect


def test_some_cases_by_turns(collected):
    one, again, other, every = collected(), collected(), collected("--ep-turn", "other"), collected("--ep-every-case")
    assert len(one) == len(other) == 24
    assert one == again
    assert one != other
    assert len(every) > 500
    assert {*one, *other} <= {*every}


def test_a_case_that_failed_is_run_until_it_passes(collected, tmp_path):
    left_out = next(case for case in collected("--ep-every-case") if case not in collected())
    (tmp_path / "v/cache").mkdir(parents=True, exist_ok=True)
    (tmp_path / "v/cache/lastfailed").write_text(json.dumps({left_out: True}))
    assert left_out in collected()


def test_selected_cases_are_chosen_from(collected):
    cases = collected("-k", "kFloat16")
    assert len(cases) == 24
    assert all("kFloat16" in case for case in cases)
