"""The CUDA device on a machine with a GPU: its tests, then the primitives compared with PyTorch and CuPy.

    python -m benchmarks.gpu                      all of it, in nine minutes, with a file in benchmarks/results/
    python -m benchmarks.gpu --no-tests --only gather,expand --sizes 2^24,2^28 --dtypes float32 --table

Requirements: `pip install -e ".[test]"`, and PyTorch and CuPy (`cupy-cuda13x`) in the same environment if they are to
be compared. The parts, each within its share of `--minutes`: `pytest --ep-device cuda` in a process of its own; the
bandwidth of the device's own copy of 1 GiB; the time of a launch in Python and in a CUDA graph; the cases of the CPU
benchmark, of 2^10 to 2^28 elements. A run prints its progress and writes its file every few seconds. If it is stopped
early, also by a signal, the file has the measurements until then, and lists the missing ones.

Cases are timed by events of the device around a batch of launches on one stream, which all libraries use in turns. The
stream is kept busy while a batch is queued, so the measured time is that of the device. If Python queued launches more
slowly than the device executed them, the case is marked as bound by the launch. From 2^20 elements on, launches rotate
through several copies of the buffers, at least 256 MiB in all, so that no data is in L2; smaller cases have their data
in L2.
"""
