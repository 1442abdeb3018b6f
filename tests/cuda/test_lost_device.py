"""A test that loses the device, in a worker of pytest-xdist: another worker has the tests that follow."""

import re
import subprocess
import sys

from tests.cuda.stub import needs_stub
from tests.subprocesses import environment_of
from tools.search_paths import extended

pytestmark = needs_stub

FIXTURES = "from ep.testing.fixtures import device, pytest_generate_tests\n"
TESTS = """
import os
import pytest

@pytest.mark.parametrize("number", range(6))
def test_number(device, number):
    if number == 2:
        os.environ["STUB_FAULT"] = "0"
    assert number != 4
    device.stream.Sync()
"""


def outcomes(folder, stub, *options):
    """Return the sorted numbers of the tests that passed and that failed."""
    (folder / "conftest.py").write_text(FIXTURES)
    (folder / "test_lost.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "ep.testing.plugin", "-p", "no:cacheprovider", "-v", *options]
    done = subprocess.run(
        [*command, "--ep-device", "cuda", "test_lost.py"],
        env=environment_of((), {"LD_LIBRARY_PATH": extended("LD_LIBRARY_PATH", stub)}),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    said = re.findall(
        r"(PASSED|FAILED) test_lost.py::test_number\[cuda-(\d)\]|\[cuda-(\d)\] (PASSED|FAILED)", done.stdout
    )
    found = {(ended or late, number or other) for ended, number, other, late in said}
    return [sorted(number for ended, number in found if ended == each) for each in ("PASSED", "FAILED")], done.stdout


def test_the_tests_that_follow_run_in_another_worker(tmp_path, folder):
    found, printed = outcomes(tmp_path, folder, "-n", "1")
    assert found == [["0", "1", "3", "5"], ["2", "4"]], printed
    assert printed.count("node down") == 1  # the failure of test 4 is not the device's


def test_without_workers_they_fail(tmp_path, folder):
    assert outcomes(tmp_path, folder)[0] == [["0", "1"], ["2", "3", "4", "5"]]
