"""The CUDA device on a machine with a GPU: its tests, then the primitives compared with PyTorch and CuPy.

    python -m benchmarks.gpu tests                the tests, in nine minutes
    python -m benchmarks.gpu times                the times, in nine minutes, with a file in benchmarks/results/
    python -m benchmarks.gpu times --only gather,expand --sizes 2^24,2^28 --dtypes float32 --table
    python -m benchmarks.gpu times --dry-run      without a GPU: everything runs, and no time is reported

Requirements: `pip install -e ".[test]"`, and PyTorch and CuPy (`cupy-cuda13x`) in the same environment if they are to
be compared, and for the tests with their arrays; compute-sanitizer on the path for its tests. To save compiling there,
carry the folder EP_CACHE_DIR of a machine without a GPU, on which `pytest --ep-device cuda`, a dry run or `ep cache
warm --device cuda --capability 9.0` has filled it, from the same commit and with the same packages. What could not run
is listed with its reason.

The first run has `pytest --ep-device cuda` in a process of its own, and twenty kernels under compute-sanitizer. The
second one has the bandwidth of the device's own copy of 1 GiB; the time of a launch in Python and in a CUDA graph; the
forms of kernels (EP_CUDA_GRID and EP_CUDA_STORES) in turns; the cases of the CPU benchmark with 2^26 elements of
float32 and bfloat16; odd rows, vocabularies and frequent ids; then the other dtypes, and 2^10 to 2^28 elements. It ends
with a verdict for each kind of case and dtype. It prints its progress and writes its file every few seconds. If it is
stopped early, also by a signal, the file has the measurements until then, and lists the missing ones.

Cases are timed by events of the device around a batch of launches on one stream, which all libraries use in turns. The
stream is kept busy while a batch is queued, so the measured time is that of the device. If Python queued launches more
slowly than the device executed them, the case is marked as bound by the launch. From 2^20 elements on, launches rotate
through several copies of the buffers, at least 256 MiB in all, so that no data is in L2; smaller cases have their data
in L2.
"""
