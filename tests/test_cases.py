"""The choice of cases of a run: some in rotation, including those that failed; or all."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.choice import Choice

ROOT = Path(__file__).parents[1]

FILE, TEST = "ep/testing/primitive/test_batch_scatter.py", "test_every_key"


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
    assert len(one) == len(other) == 1
    assert one != other
    assert len(every) > 500
    assert {*one, *other} <= {*every}
    failed = next(case for case in every if case not in one and "kFloat16" in case)
    (tmp_path / "v/cache").mkdir(parents=True, exist_ok=True)
    (tmp_path / "v/cache/lastfailed").write_text(json.dumps({failed: True}))
    selected = collected("-k", "kFloat16")
    assert failed in selected, "a case that failed is run until it passes"
    assert 1 <= len(selected) <= 2
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
    return Choice(long, examples=100, turn=turn)


KEYS = [f"key{number}" for number in range(50)]


def test_each_test_has_a_case_with_the_key_of_the_others():
    chosen = choice("one").chosen(items("a", KEYS) + items("b", KEYS, range(9)) + items("c", KEYS[:2], range(9)))
    keys = dict(re.fullmatch(r"(\w)\[(\w+)-\d\]", name).groups() for name in chosen)
    assert len(chosen) == len(keys) == 3
    assert keys["a"] == keys["b"]


def test_every_case_has_its_turn():
    all_of_them = items("a", KEYS[:8], range(4)) + items("long", KEYS[:8], long=True)
    all_of_them += items("random", KEYS[:8], parameter="draw") + items("a", KEYS[:8], (9,), long=True)
    names = {item.nodeid for item in all_of_them}
    assert set.union(*(choice(str(turn), long=1).chosen(all_of_them) for turn in range(300))) == names


def test_of_long_tests_there_are_some_in_all():
    tests = [
        *items("a", KEYS, long=True),
        *items("b", KEYS, long=True),
        *items("c", ["key"]),
        *items("d", KEYS, long=True),
    ]
    chosen = choice("one", long=2).chosen(tests)
    assert sorted(name[0] for name in chosen if name != "c[key-0]") in (["a", "b"], ["a", "d"], ["b", "d"])
    assert len(chosen) == 3


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
