"""The CUDA device on a machine with a GPU: its tests, then the primitives compared with PyTorch and CuPy.

    python -m benchmarks.gpu                      all of it, in nine minutes, with a file in benchmarks/results/
    python -m benchmarks.gpu --no-tests --only gather,expand --sizes 2^24,2^28 --dtypes float32 --table

What it needs: `pip install -e ".[test]"`, and PyTorch and CuPy (`cupy-cuda13x`) in the same environment, as far as
they are to be compared with. The parts, each within its share of `--minutes`: `pytest --ep-device cuda` in a process
of its own; the bandwidth of the device's own copy of 1 GiB; what a launch costs in Python, and in a CUDA graph; the
cases of the CPU benchmark, of 2^10 to 2^28 elements. It prints as it goes and writes its file every few seconds, so one
that is stopped early, by a signal too, has what it had measured until then; what it had not is listed.

How cases are timed: by events of the device around a batch of launches on one stream, which everyone uses, in turns.
The stream is kept busy while a batch is queued, so the time is the device's; where Python queued slower than the device
worked, the case is marked as bound by the launch. From 2^20 elements on, launches go through several copies of the
buffers, 256 MiB and more of them, so that nothing is found in the L2 cache; smaller cases find their data there.
"""
