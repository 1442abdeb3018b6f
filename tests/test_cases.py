"""The choice of cases of a run: some in rotation, including those that failed; or all."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.choice import Choice

ROOT = Path(__file__).parents[1]

FILE, TEST = "tests/common/test_scalar.py", "test_floats"


@pytest.fixture
def collected(tmp_path):
    """Return the cases that runs with these options collect of a test that has hundreds of them."""

    def collect(*options):
        fixed = ("--collect-only", "-q", "-p", "no:xdist", "-o", f"cache_dir={tmp_path}", "--ep-turn", "one")
        command = [sys.executable, "-m", "pytest", *fixed, *options, f"{FILE}::{TEST}"]
        said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        return [line for line in said.splitlines() if line.startswith(f"{FILE}::{TEST}[")]

    return collect


def test_which_cases_are_collected(collected, tmp_path):
    one, other, every = collected(), collected("--ep-turn", "other"), collected("--ep-every-case")
    assert len(one) == len(other) == 2
    assert one != other
    assert len(every) > 500
    assert {*one, *other} <= {*every}
    failed = next(case for case in every if case not in one and "kFloat16" in case)
    (tmp_path / "v/cache").mkdir(parents=True, exist_ok=True)
    (tmp_path / "v/cache/lastfailed").write_text(json.dumps({failed: True}))
    selected = collected("-k", "kFloat16")
    assert failed in selected, "a case that failed is run until it passes"
    assert 2 <= len(selected) <= 3
    assert all("kFloat16" in case for case in selected), "those that -k selects are chosen from"


def items(test, keys, sizes=(0,), long=False, parameter="key"):
    """Return cases of each key and size, in the form in which pytest collects them."""
    return [
        SimpleNamespace(
            nodeid=f"{test}[{key}-{size}]",
            callspec=SimpleNamespace(params={parameter: (SimpleNamespace(name=key),), "size": size}),
            get_closest_marker=lambda name: long and name == "ep_long",
        )
        for key in keys
        for size in sizes
    ]


def choice(turn, long=0):
    return Choice(cases=6, keys=4, structures=2, long=long, examples=100, turn=turn)


KEYS = [f"key{number}" for number in range(50)]


def keys_of(chosen, test):
    return Counter(name.partition("[")[2].partition("-")[0] for name in chosen if name.startswith(test))


def test_tests_have_cases_of_the_same_few_keys():
    chosen = choice("one").chosen(items("a", KEYS) + items("b", KEYS, range(9)) + items("c", KEYS[:2], range(9)))
    assert keys_of(chosen, "a").keys() == keys_of(chosen, "b").keys()
    assert sorted(keys_of(chosen, "a").values()) == [1, 1, 1, 1]
    assert sorted(keys_of(chosen, "b").values()) == [1, 1, 2, 2]
    assert sorted(keys_of(chosen, "c").values()) == [3, 3]


def test_there_are_fewer_expressions_than_keys():
    chosen = choice("one").chosen(items("a", KEYS, range(9), parameter="draw"))
    assert sorted(keys_of(chosen, "a").values()) == [3, 3]


def test_every_case_has_its_turn():
    all_of_them = items("a", KEYS[:8], range(4)) + items("long", KEYS[:8], long=True)
    all_of_them += items("random", KEYS[:8], parameter="draw")
    names = {item.nodeid for item in all_of_them}
    assert set.union(*(choice(str(turn), long=2).chosen(all_of_them) for turn in range(60))) == names


def test_of_long_tests_there_are_some_in_all():
    chosen = choice("one", long=3).chosen(
        items("a", KEYS, long=True) + items("b", KEYS, long=True) + items("c", ["key"])
    )
    assert len(chosen) == 4
    assert "c[key-0]" in chosen


def test_what_a_run_took_and_left_out_is_said(kernels):
    """The process that reports prints the sums over all workers, and what they have collected."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--ep-turn", "one"]

    def said(*options):
        environment = {**os.environ, "EP_CACHE_DIR": str(kernels)}
        done = subprocess.run(
            [*command, *options], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    compiles = "tests/cpu/test_concurrency.py::test_results_do_not_depend_on_the_number_of_threads"
    of_workers = said("-n", "1", compiles, f"{FILE}::{TEST}")
    assert re.search(r"^\d{3} cases of tests$", of_workers, re.MULTILINE)
    words = r"^\d+ processor seconds: \d+ in processes .*, \d+ for the (\d+) kernels that tests .* compiled$"
    assert int(re.search(words, of_workers, re.MULTILINE)[1]) > 0
    long = said("-n", "0", "--collect-only", "-m", "ep_long", "tests/stress", "tests/cpu/test_small_stacks.py")
    assert re.search(r"^tests that take long: tests/.*::test_\w+ \(\d\)", long, re.MULTILINE)
