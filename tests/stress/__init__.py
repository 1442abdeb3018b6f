"""Treats the package badly: random trials with a seed and a time limit, `python -m tests.stress --help`.

Each kind of trial has a module here (`KINDS` in `runner.py`) with

- `trial(rng, tag)`, one trial on the device type `tag`: it draws from `rng` alone, and raises where something is wrong;
  `leaks` returns by how many KiB memory grows in 1000 launches, the others None;
- `FRESH`, whether each trial needs a process of its own, in which nothing has been launched;
- `SECONDS`, what a trial takes at the very most: after that it counts as one that hangs;
- `DEVICES`, the device types that it is for, None for all.

`launches` and `malformed` try calls, right and wrong; `copies`, `threads`, `forks`, `compiling_forks` and `interrupts`
what may happen to a process; `cache_files` what may happen to the files; `leaks` measures memory. All draw their calls
from `calls.py`, but for `gradients`, which compares those of operators with central differences, and `ranks`, where
ranks of jobs fail.

A trial is named by (seed, kind, number), and runs in a child process (`worker.py`), so that a crash is a finding like
any other. `test_short.py` is the short form, and `faults.py` is for the test of all this: its trials go wrong.
"""
