"""The program that times cold compiling."""

import subprocess
import sys

import pytest


@pytest.mark.ep_long
def test_keys_are_timed_after_what_all_share():
    command = [sys.executable, "-m", "benchmarks.cold", "--primitive", "ElementwiseUnary", "--dtype", "float32"]
    command += ["--op", "square", "--op", "sign"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    header, *rows = (line for line in done.stdout.splitlines() if "  " in line)
    assert header.split()[0] == "key"
    seconds, _, kernels = zip(*(row.split()[-3:] for row in rows), strict=True)
    assert [float(s) for s in seconds] == sorted(map(float, seconds), reverse=True)
    shared = [row for row in rows if "what all keys share" in row]
    assert shared == rows[:1]
    assert kernels[1:] == ("2", "2")  # each has a twin that writes with non-temporal stores
    assert {"kSquare", "kSign"} == {op for row in rows[1:] for op in ("kSquare", "kSign") if op in row}
