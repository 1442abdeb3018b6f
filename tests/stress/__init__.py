"""Stress tests: random trials with a seed and a time limit, `python -m tests.stress --help`.

Each kind of trial has a module here (`KINDS` in `runner.py`) with

- `trial(rng, tag)`, one trial on the device type `tag`: it draws only from `rng`, and raises if something is wrong;
  `leaks` returns the growth of memory in KiB per 1000 launches, the others None;
- `FRESH`, whether each trial needs a new process, in which nothing has been launched;
- `SECONDS`, the upper limit for a trial: after that it counts as hanging;
- `DEVICES`, its device types, None for all.

`launches` and `malformed` try right and wrong calls; `copies`, `threads`, `forks`, `compiling_forks` and `interrupts`
try events in a process; `cache_files` damages files; `leaks` measures memory. All draw their calls from `calls.py`,
except `gradients`, which compares gradients of operators with central differences, `overlaps`, which writes results to
arrays that overlap operands, each other and themselves, and `ranks`, which lets ranks of jobs fail.

A trial is named by (seed, kind, number), and runs in a child process (`worker.py`), so that a crash is reported like
any other failure. `test_short.py` is the short form, and `faults.py` tests the runner itself: its trials fail.
"""
